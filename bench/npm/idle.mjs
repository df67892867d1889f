// Open tabs in which nobody does a thing: unmodified y-websocket clients with the presence they have
// by themselves.
//
//   node idle.mjs --url ws://127.0.0.1:8000/collab --document ID --editors 300 [--token T]
//
// Prints {"phase":"ready"} when all are synced. For a line on standard input: {"connections": how often
// they have connected so far, all together, "present": the fewest states that one of them knows}.
import { EventEmitter } from 'node:events'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import WebSocket from 'ws'
import { WebsocketProvider } from 'y-websocket'
import * as Y from 'yjs'

EventEmitter.defaultMaxListeners = 0
const text = { type: 'string' }
const { values } = parseArgs({ options: {
  url: text, document: text, editors: text, token: { ...text, default: '' } } })
const say = (object) => process.stdout.write(JSON.stringify(object) + '\n')
let connections = 0

const opened = () => new Promise(resolve => {
  const provider = new WebsocketProvider(values.url, values.document, new Y.Doc(), {
    WebSocketPolyfill: WebSocket,
    disableBc: true,
    protocols: values.token ? [`docactor.${values.token}`] : [],
  })
  provider.on('status', ({ status }) => { connections += status === 'connected' })
  provider.once('sync', () => resolve(provider))
})

const providers = await Promise.all(Array.from({ length: Number(values.editors) }, opened))
say({ phase: 'ready' })
for await (const _ of createInterface({ input: process.stdin })) {
  const present = Math.min(...providers.map(({ awareness }) => awareness.getStates().size))
  say({ connections, present })
}
process.exit(0)
