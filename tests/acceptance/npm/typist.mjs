// A person who types all day: one unmodified y-websocket client per document, unique words at a
// steady rate, whether connected or not.
//
//   node typist.mjs --url ws://127.0.0.1:8000/collab --docs ID,ID --token T --name ann --every 250
//     [--client y-websocket-2]
//
// Every document gets a paragraph of the typist's own, a fresh one after so many words. Out, one JSON
// object a line: {event: "ready"} once all documents are synced, {event: "typed", doc, word} and
// {event: "seen", doc, words} for words of others that came from the server. In: a line "pause",
// "go on" or "copies", which is answered {event: "copies", copies: {doc: [text of each block]}}.
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import WebSocket from 'ws'
import * as Y from 'yjs'

const text = { type: 'string' }
const { values: options } = parseArgs({ options: {
  url: text, docs: text, token: text, name: text, every: text,
  client: { ...text, default: 'y-websocket' } } })
const { WebsocketProvider } = await import(options.client)
const WORDS_PER_PARAGRAPH = 30
const WORD = /\b[a-z]+\d*x\d+\b/g

// Version 1.x has no way to name subprotocols.
class Socket extends WebSocket {
  constructor (url) { super(url, [`docactor.${options.token}`]) }
}

const say = (object) => process.stdout.write(JSON.stringify(object) + '\n')
const plain = (node) => node instanceof Y.XmlText
  ? node.toDelta().map((part) => typeof part.insert === 'string' ? part.insert : '').join('')
  : node.toArray().map(plain).join(' ')
const inserted = (part) => typeof part.insert === 'string'
  ? part.insert
  : (Array.isArray(part.insert) ? part.insert.map(plain).join(' ') : '')

class Desk {
  constructor (name) {
    this.name = name
    this.doc = new Y.Doc()
    this.root = this.doc.getXmlFragment('default')
    this.left = 0
    this.provider = new WebsocketProvider(options.url, name, this.doc, {
      WebSocketPolyfill: Socket, disableBc: true })
    this.synced = new Promise(resolve => this.provider.once('sync', resolve))
    this.root.observeDeep((events, transaction) => {
      if (transaction.origin !== this.provider) return
      const news = events.flatMap((event) => event.delta).map(inserted).join(' ')
      const words = news.match(WORD) ?? []
      if (words.length > 0) say({ event: 'seen', doc: name, words })
    })
  }

  type (word) {
    if (this.left === 0) {
      this.text = new Y.XmlText()
      const paragraph = new Y.XmlElement('paragraph')
      paragraph.insert(0, [this.text])
      this.root.push([paragraph])
      this.left = WORDS_PER_PARAGRAPH
    }
    this.left -= 1
    // Told before it is sent: who is killed in between has typed it, and nobody counts on it.
    say({ event: 'typed', doc: this.name, word })
    this.text.insert(this.text.length, word + ' ')
  }
}

const desks = options.docs.split(',').map((name) => new Desk(name))
await Promise.all(desks.map((desk) => desk.synced))
say({ event: 'ready' })

let number = 0
let typing = true
setInterval(() => {
  if (!typing) return
  number += 1
  desks[Math.floor(Math.random() * desks.length)].type(`${options.name}x${number}`)
}, Number(options.every))

for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'copies') {
    const copies = desks.map((desk) => [desk.name, desk.root.toArray().map(plain)])
    say({ event: 'copies', copies: Object.fromEntries(copies) })
  } else {
    typing = line === 'go on'
  }
}
process.exit(0)
