// An editor without a screen: an unmodified y-websocket or Hocuspocus client, told what to do on stdin.
//
//   node editor.mjs --url ws://127.0.0.1:8000/collab --doc ID --token T [--client y-websocket-2] [--id 5]
//   node editor.mjs --url ws://127.0.0.1:8000/hocuspocus --doc ID --token T --client @hocuspocus/provider
//
// One JSON object a line. In: {id, do: an act, …}; the acts stand below. `run` takes the body of a
// function, for what only one test does.
// Out: {event: "status" | "synced" | "change" | "awareness" | "closed", …} and {id, …answer}, each
// with `at`, milliseconds since this program began. Hocuspocus clients also say "scope", "denied",
// "unsaved" and "stateless".
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import WebSocket from 'ws'
import * as Y from 'yjs'

const { values: options } = parseArgs({ options: {
  url: { type: 'string' }, doc: { type: 'string' }, token: { type: 'string', default: '' },
  client: { type: 'string', default: 'y-websocket' }, id: { type: 'string' } } })
console.log = console.error // libraries may log; stdout is ours
const { WebsocketProvider, HocuspocusProvider, HocuspocusProviderWebsocket } = await import(options.client)

const say = (object) => process.stdout.write(JSON.stringify({ ...object, at: performance.now() }) + '\n')
const doc = new Y.Doc()
if (options.id) doc.clientID = Number(options.id)
const root = doc.getXmlFragment('default')
let connections = 0

// Version 1.x has no way to name subprotocols, as a browser would not need one with a cookie.
class Socket extends WebSocket {
  constructor (url) { super(url, options.token ? [`docactor.${options.token}`] : []) }
}

const connected = () => {
  connections += 1
  say({ event: 'status', status: 'connected', connections })
}

function overYWebsocket () {
  const provider = new WebsocketProvider(options.url, options.doc, doc, {
    WebSocketPolyfill: Socket, disableBc: true })
  provider.on('status', ({ status }) => {
    if (status === 'connected') connected()
    else say({ event: 'status', status, connections })
  })
  provider.on('sync', (synced) => say({ event: 'synced', synced }))
  provider.on('connection-close', (event) => say({ event: 'closed', code: event?.code ?? null }))
  return provider
}

function overHocuspocus () {
  const websocketProvider = new HocuspocusProviderWebsocket({
    url: options.url, WebSocketPolyfill: WebSocket })
  websocketProvider.on('open', connected)
  websocketProvider.on('close', ({ event }) => {
    say({ event: 'closed', code: event?.code ?? null })
    say({ event: 'status', status: 'disconnected', connections })
  })
  const provider = new HocuspocusProvider({
    websocketProvider, name: options.doc, document: doc, token: options.token || null })
  provider.on('synced', ({ state }) => say({ event: 'synced', synced: state }))
  provider.on('authenticated', ({ scope }) => say({ event: 'scope', scope }))
  provider.on('authenticationFailed', ({ reason }) => say({ event: 'denied', reason }))
  provider.on('unsyncedChanges', ({ number }) => say({ event: 'unsaved', number }))
  provider.on('stateless', ({ payload }) => say({ event: 'stateless', payload }))
  provider.attach()
  return provider
}

const provider = HocuspocusProvider ? overHocuspocus() : overYWebsocket()
const socket = HocuspocusProvider ? provider.configuration.websocketProvider : provider
provider.awareness.on('change', () => say({ event: 'awareness', states: who() }))
doc.on('update', (update, origin) => {
  if (origin === provider) say({ event: 'change', bytes: update.length, text: text() })
})

const plain = (node) => node instanceof Y.XmlText
  ? node.toDelta().map((part) => typeof part.insert === 'string' ? part.insert : '').join('')
  : node.toArray().map(plain).join('')
const text = () => root.toArray().map(plain)
const who = () => Object.fromEntries(provider.awareness.getStates())
const leaf = (index) => {
  const block = root.get(index)
  if (block.length === 0) block.insert(0, [new Y.XmlText()])
  return block.get(0)
}
const paragraph = (words) => {
  const element = new Y.XmlElement('paragraph')
  element.insert(0, [new Y.XmlText(words)])
  return element
}

const acts = {
  text: () => ({ text: text() }),
  state: () => ({ vector: Buffer.from(Y.encodeStateVector(doc)).toString('base64'), connections }),
  who: () => ({ states: who(), me: doc.clientID }),
  presence: ({ state }) => { provider.awareness.setLocalState(state); return {} },
  insert: ({ at, text }) => { root.insert(at ?? root.length, [paragraph(text)]); return {} },
  type: ({ block, at, text }) => { leaf(block).insert(at ?? leaf(block).length, text); return {} },
  delete: ({ block }) => { root.delete(block, 1); return {} },
  disconnect: () => { socket.disconnect(); return {} },
  connect: () => {
    // A Hocuspocus socket that is still closing takes itself for connected, and would stay away.
    if (socket.status !== 'connected' || socket.shouldConnect) socket.connect()
    else {
      const closed = () => { socket.off('close', closed); setTimeout(() => socket.connect()) }
      socket.on('close', closed)
    }
    return {}
  },
  run: ({ code }) => ({ result: new Function('Y', 'doc', 'root', 'provider', 'paragraph', 'leaf', code)(
    Y, doc, root, provider, paragraph, leaf) ?? null }),
  quit: () => { provider.destroy(); say({ event: 'bye' }); process.exit(0) }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, do: act, ...rest } = JSON.parse(line)
  try {
    say({ id, ...acts[act](rest) })
  } catch (error) {
    say({ id, error: String(error) })
  }
}
process.exit(0)
