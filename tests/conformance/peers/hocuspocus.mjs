// Hocuspocus with its SQLite extension, both as they come; a token decides what may be done.
//   node hocuspocus.mjs PORT DATABASE_FILE
import { createRequire } from 'node:module'

// The benchmark's own: better-sqlite3 is built once.
const bench = createRequire(new URL('../../../bench/npm/package.json', import.meta.url))
const { SQLite } = bench('@hocuspocus/extension-sqlite')
const { Server } = bench('@hocuspocus/server')

const [port, database] = process.argv.slice(2)
const server = new Server({
  port: Number(port),
  address: '127.0.0.1',
  quiet: true,
  extensions: [new SQLite({ database })],
  async onAuthenticate ({ token, connectionConfig }) {
    if (token === 'bad') throw new Error('not you')
    connectionConfig.readOnly = token === 'read'
  }
})
await server.listen()
