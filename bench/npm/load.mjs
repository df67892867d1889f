// Editors at work: unmodified Yjs clients, the same work whichever server they are pointed at.
//
// Every editor types into a paragraph of its own in the fragment `default`, at a fixed rate. Each
// word carries the moment it was typed (the machine's monotonic clock, so that several generators
// agree); whoever else has the document open notes how old a word is when it arrives.
//
//   node load.mjs --wire y --url ws://127.0.0.1:8000/collab --documents id1,id2 \
//     --editors 4 --edits 20 --every 500 [--warmup 5] [--token T] [--share 0/2]
//
// With `--share i/n` this process plays every n-th editor of each document, from the i-th on.
// Conversation with whoever started it: prints {"phase":"ready"} when all its editors are synced and
// warm; a line on standard input starts the load; prints {"phase":"done", …}; a second line ends it.
// Exit code 1 when words are missing.
import { createHash } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { HocuspocusProvider, HocuspocusProviderWebsocket } from '@hocuspocus/provider'
import WebSocket from 'ws'
import { WebsocketProvider } from 'y-websocket'
import * as Y from 'yjs'

const SYNC_DEADLINE_MS = 180_000 // a server may start a process for each document first
const DELIVERY_DEADLINE_MS = 30_000
EventEmitter.defaultMaxListeners = 0 // hundreds of editors share this process

const text = { type: 'string' }
const { values } = parseArgs({
  options: {
    wire: text, url: text, documents: text, editors: text, edits: text, every: text,
    warmup: { ...text, default: '5' }, token: { ...text, default: '' },
    share: { ...text, default: '0/1' },
  },
})
const [edits, warmup, every, perDocument] =
  [values.edits, values.warmup, values.every, values.editors].map(Number)
const [share, shares] = values.share.split('/').map(Number)

const providers = {
  y: (name, doc) => {
    const provider = new WebsocketProvider(values.url, name, doc, {
      WebSocketPolyfill: WebSocket,
      disableBc: true,
      protocols: values.token ? [`docactor.${values.token}`] : [],
    })
    return new Promise(resolve => provider.once('sync', resolve))
  },
  hocuspocus: (name, doc) => {
    // A socket each: fifty editors are fifty people, not one with fifty tabs.
    const websocketProvider = new HocuspocusProviderWebsocket({
      url: values.url, WebSocketPolyfill: WebSocket,
    })
    const token = values.token || null
    const provider = new HocuspocusProvider({ websocketProvider, name, document: doc, token })
    provider.attach()
    return new Promise(resolve => provider.on('synced', resolve))
  },
}

const sleep = ms => new Promise(resolve => setTimeout(resolve, Math.max(0, ms)))
const microseconds = () => Number(process.hrtime.bigint() / 1000n)
const rounded = number => Math.round(number * 1000) / 1000
const say = message => console.log(JSON.stringify(message))

async function until (condition, deadline, what) {
  const end = performance.now() + deadline
  while (!condition()) {
    if (performance.now() > end) throw new Error(`not within ${deadline} ms: ${what}`)
    await sleep(2)
  }
}

class Editor {
  constructor (name, place) {
    this.name = name
    this.place = place
    this.doc = new Y.Doc()
    this.fragment = this.doc.getXmlFragment('default')
    this.synced = providers[values.wire](name, this.doc)
  }

  /** Calls `arrived(word)` for every word another editor typed. */
  listen (arrived) {
    this.fragment.observeDeep((events, transaction) => {
      if (transaction.local) return
      for (const event of events) {
        for (const { insert } of event.delta) {
          if (typeof insert === 'string') insert.split(' ').forEach(arrived)
        }
      }
    })
  }

  type (word) {
    const paragraph = this.fragment.get(this.place).get(0)
    paragraph.insert(paragraph.length, `${word} `)
  }

  /** A paragraph for each editor of the document; the first editor's task. */
  layOut () {
    const paragraphs = Array.from({ length: perDocument }, () => {
      const paragraph = new Y.XmlElement('paragraph')
      paragraph.insert(0, [new Y.XmlText('Typed: ')])
      return paragraph
    })
    this.fragment.insert(0, paragraphs)
  }
}

/** Types at a fixed rate; a late timer catches up instead of slowing the rate. */
async function typeAtRate (editor, count, makeWord) {
  const start = performance.now() + Math.random() * every
  for (let k = 0; k < count; k++) {
    await sleep(start + k * every - performance.now())
    editor.type(makeWord(k))
  }
}

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()

// Everybody is there and warm.
const connecting = performance.now()
const all = []
for (const name of values.documents.split(',')) {
  for (let place = share; place < perDocument; place += shares) all.push(new Editor(name, place))
}
let synced = 0
for (const editor of all) editor.synced.then(() => { synced++ })
await until(() => synced === all.length, SYNC_DEADLINE_MS, 'first sync of every editor')
const firstSync = performance.now() - connecting
all.filter(editor => editor.place === 0).forEach(editor => editor.layOut())
const laidOut = () => all.every(editor => editor.fragment.length >= perDocument)
await until(laidOut, SYNC_DEADLINE_MS, 'a paragraph for every editor')
const latencies = []
for (const editor of all) {
  editor.listen(word => {
    if (word[0] === '#') latencies.push(microseconds() - Number(word.slice(1)))
  })
}
await Promise.all(all.map(editor => typeAtRate(editor, warmup, k => `w${k}`)))

say({ phase: 'ready' })
await lines.next()

// The measured part.
const expected = all.length * edits * (perDocument - 1)
const started = performance.now()
const cpuBefore = process.cpuUsage()
await Promise.all(all.map(editor => typeAtRate(editor, edits, () => `#${microseconds()}`)))
const typed = performance.now()
await until(() => latencies.length >= expected, DELIVERY_DEADLINE_MS, 'every word everywhere')
  .catch(error => console.error(error.message))
const seconds = (performance.now() - started) / 1000
const cpu = process.cpuUsage(cpuBefore)

const copies = all.map(editor => `${editor.name} ${editor.fragment.toString()}`)
say({
  phase: 'done',
  expected,
  received: latencies.length,
  copies: [...new Set(copies.map(copy => createHash('sha256').update(copy).digest('hex')))].sort(),
  seconds: rounded(seconds),
  edits_per_s: rounded(all.length * edits / ((typed - started) / 1000)),
  first_sync_ms: rounded(firstSync),
  cpu: rounded((cpu.user + cpu.system) / 1e6 / seconds),
  latencies_us: latencies,
})
await lines.next()
process.exit(latencies.length === expected ? 0 : 1)
