// The peer: Hocuspocus with its SQLite extension, both as they come.
//   node hocuspocus.mjs PORT DATABASE_FILE
import { SQLite } from '@hocuspocus/extension-sqlite'
import { Server } from '@hocuspocus/server'

const [port, database] = process.argv.slice(2)
const server = new Server({
  port: Number(port),
  address: '127.0.0.1',
  quiet: true,
  extensions: [new SQLite({ database })],
})
await server.listen()
console.log('ready')
