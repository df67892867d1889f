// Checks a server of your own.
//
//   node run.mjs --wire y --url ws://127.0.0.1:1234
//   node run.mjs --wire hocuspocus --url ws://127.0.0.1:1234 --token T --read-token R --bad-token wrong
//
//   --auth subprotocol:NAME.{token}   where the token goes on the y-websocket wire; or query:key={token}
//   --documents FILE                  for a server that makes no document by its name: one name a line, of empty ones
//   --start "COMMAND" --port N        also stops, kills and starts the server by itself
//   --slow                            also what takes a minute
//   --only ID,ID                      these alone, or whole groups: "In sync", "Who may"; --json writes the results as JSON to standard output
//
// Exit code 1 when a check fails.
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { ServerProcess } from './process.mjs'
import { run } from './suite.mjs'

const text = { type: 'string' }
const { values: asked } = parseArgs({ options: {
  url: text, wire: { ...text, default: 'y' }, token: text, 'read-token': text, 'bad-token': text, auth: text,
  documents: text, start: text, port: text, only: text, slow: { type: 'boolean' }, json: { type: 'boolean' } } })

const names = asked.documents ? readFileSync(asked.documents, 'utf8').split('\n').filter((line) => line) : null
const target = {
  wire: asked.wire,
  url: asked.url,
  auth: asked.auth,
  token: asked.token,
  readToken: asked['read-token'],
  badToken: asked['bad-token'],
  name: () => {
    if (names === null) return `conformance-${Math.random().toString(36).slice(2)}`
    if (names.length === 0) throw new Error('--documents: more names are needed')
    return names.pop()
  }
}
if (asked.start) target.process = await new ServerProcess(['/bin/sh', '-c', `exec ${asked.start}`], Number(asked.port)).start()
console.log = () => {} // libraries log
const say = (line) => asked.json || process.stdout.write(`${line}\n`)
const results = await run(target, { slow: asked.slow, only: asked.only?.split(',') }, ({ id, result, note, title, ms }) =>
  say(`${result === 'pass' ? 'pass' : 'FAIL'}  ${id.padEnd(28)} ${title}${note ? ` (${note})` : ''}  ${ms} ms`))
await target.process?.stop()
const failed = results.filter(({ result }) => result !== 'pass').length
if (asked.json) process.stdout.write(JSON.stringify(results), () => process.exit(failed ? 1 : 0))
else {
  say(`${results.length - failed} of ${results.length} pass`)
  process.exit(failed ? 1 : 0)
}
