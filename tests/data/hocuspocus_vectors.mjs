// Makes hocuspocus_vectors.json: what unmodified providers send, and what the reference server would
// answer, byte for byte. Needs the packages of tests/acceptance/npm and bench/npm:
//   node tests/data/hocuspocus_vectors.mjs > tests/data/hocuspocus_vectors.json
import { createRequire } from 'node:module'
const clients = createRequire(new URL('../acceptance/npm/package.json', import.meta.url))
const servers = createRequire(new URL('../../bench/npm/package.json', import.meta.url))
const Y = clients('yjs')
const { WebSocket, WebSocketServer } = clients('ws')
const { Document, OutgoingMessage } = servers('@hocuspocus/server')
const ServerY = servers('yjs')

const NAME = 'Übung 😀'
const hex = (bytes) => Buffer.from(bytes).toString('hex')
const made = (type, build) => { const message = new OutgoingMessage(NAME); build(message); return hex(message.toUint8Array()) }
const until = async (seen) => { while (!seen()) await new Promise((resolve) => setTimeout(resolve, 5)) }

// What the reference server sends.
const held = new Document(NAME)
held.clientID = 9
ServerY.applyUpdate(held, (() => { const doc = new ServerY.Doc(); doc.clientID = 4011; doc.getText('text').insert(0, 'hello 😀'); return ServerY.encodeStateAsUpdate(doc) })())
const whole = ServerY.encodeStateAsUpdate(held)
const server = {
  authenticated: made('auth', (m) => m.writeAuthenticated(false)),
  readonly: made('auth', (m) => m.writeAuthenticated(true)),
  permission_denied: made('auth', (m) => m.writePermissionDenied('nicht erlaubt ☹')),
  token_request: made('auth', (m) => m.writeTokenSyncRequest()),
  step1: made('sync', (m) => m.createSyncMessage().writeFirstSyncStepFor(held)),
  update: made('sync', (m) => m.createSyncMessage().writeUpdate(whole)),
  query_awareness: made('awareness', (m) => m.writeQueryAwareness()),
  stateless: made('stateless', (m) => m.writeStateless('Größe: 5 €')),
  sync_status_1: made('status', (m) => m.writeSyncStatus(true)),
  sync_status_0: made('status', (m) => m.writeSyncStatus(false)),
  close: made('close', (m) => m.writeCloseMessage('zu spät'))
}

// What a provider sends, in order, to a server that authorises and asks it.
async function record (packageName, options) {
  const { HocuspocusProvider, HocuspocusProviderWebsocket } = clients(packageName)
  const frames = []
  const listening = new WebSocketServer({ port: 0 })
  let peer = null
  listening.on('connection', (socket) => { peer = socket; socket.on('message', (data) => frames.push(hex(data))) })
  const websocketProvider = new HocuspocusProviderWebsocket({ url: `ws://127.0.0.1:${listening.address().port}`, WebSocketPolyfill: WebSocket })
  const doc = new Y.Doc()
  doc.clientID = 77
  doc.getText('text').insert(0, 'mine')
  const provider = new HocuspocusProvider({ websocketProvider, name: NAME, document: doc, token: 'tökén', ...options })
  provider.sessionId = 'abc123'
  provider.attach()
  await until(() => frames.length === 3)
  const answer = (text) => peer.send(Buffer.from(text, 'hex'))
  if (!options.sessionAwareness) {
    answer(server.authenticated)
    answer(made('sync', (m) => m.createSyncMessage().writeFirstSyncStepFor(new Document(NAME)))) // it answers with step 2
    await until(() => frames.length === 4)
    doc.getText('text').insert(4, ' 😀') // update
    provider.awareness.setLocalState({ user: { name: 'Zoë' } }) // awareness
    provider.sendStateless('Größe: 5 €')
    provider.forceSync() // step 1
    answer(server.query_awareness) // awareness
    await until(() => frames.length === 9)
    answer(server.token_request) // auth
    await until(() => frames.length === 10)
    if (!packageName.endsWith('-3')) { answer('09'); await until(() => frames.length === 11) } // pong
    provider.detach() // close
    await until(() => frames.length === (packageName.endsWith('-3') ? 11 : 12))
  }
  provider.awareness.destroy()
  websocketProvider.destroy()
  listening.close()
  return frames
}

const out = {
  made_with: { provider: '4.8.0', 'provider-3': '3.4.4', server: '4.7.0' },
  name: NAME,
  token: 'tökén',
  document: { vector: hex(ServerY.encodeStateVector(held)), update: hex(whole) },
  server,
  provider: await record('@hocuspocus/provider', {}),
  provider_3: await record('@hocuspocus/provider-3', {}),
  session_aware: await record('@hocuspocus/provider', { sessionAwareness: true })
}
console.log(JSON.stringify(out, null, 1))
process.exit(0)
