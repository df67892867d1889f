// Editors of people: y-websocket's and Hocuspocus's providers, unmodified.
import { HocuspocusProvider, HocuspocusProviderWebsocket } from '@hocuspocus/provider'
import WebSocket from 'ws'
import { WebsocketProvider } from 'y-websocket'
import * as Y from 'yjs'
import { until } from './wait.mjs'
import { handshake } from './wire.mjs'

/** Adds a paragraph to the XmlFragment `default`, which is what rich-text editors share. */
export function write (doc, words) {
  const paragraph = new Y.XmlElement('paragraph')
  const text = new Y.XmlText(words)
  paragraph.insert(0, [text])
  const root = doc.getXmlFragment('default')
  root.push([paragraph])
  return text
}

const plain = (node) => node instanceof Y.XmlText ? node.toString() : node.toArray().map(plain).join('')
/** The text of each paragraph that has one. */
export const words = (doc) => doc.getXmlFragment('default').toArray().map(plain).filter((text) => text)

export class Editor {
  constructor (target, name, { shown = target.token, doc = new Y.Doc(), beside = null } = {}) {
    Object.assign(this, { target, name, doc, connections: 0, denied: null })
    if (target.wire === 'y') this.#overY(shown)
    else this.#overHocuspocus(shown, beside)
  }

  #overY (shown) {
    const { url, protocols } = handshake(this.target, '', shown)
    const [server, query] = url.split('?')
    this.provider = new WebsocketProvider(server.replace(/\/$/, ''), encodeURIComponent(this.name), this.doc, {
      WebSocketPolyfill: WebSocket, disableBc: true, protocols, params: Object.fromEntries(new URLSearchParams(query)) })
    this.provider.on('status', ({ status }) => { this.connections += status === 'connected' })
  }

  #overHocuspocus (shown, beside) {
    this.socket = beside?.socket ?? new HocuspocusProviderWebsocket({
      url: this.target.url, WebSocketPolyfill: WebSocket, delay: 200, minDelay: 100, maxDelay: 1_000 })
    this.socket.on('open', () => { this.connections += 1 })
    this.provider = new HocuspocusProvider({
      websocketProvider: this.socket, name: this.name, document: this.doc, token: shown || null })
    this.provider.on('authenticationFailed', ({ reason }) => { this.denied = reason })
    this.provider.attach()
  }

  get synced () { return this.provider.synced }
  get words () { return words(this.doc) }
  /** Of others, by client id. */
  get others () {
    const states = new Map(this.provider.awareness.getStates())
    states.delete(this.doc.clientID)
    return states
  }

  write (text) { return write(this.doc, text) }
  present (state) { this.provider.awareness.setLocalState(state) }
  async ready () { await until('synced', () => this.synced); return this }
  async sees (...expected) {
    await until(`the words ${expected}`, () => this.words.join('|') === expected.join('|')).catch((error) => {
      error.message += `; there is ${this.words.join('|').slice(0, 200)}`
      throw error
    })
  }

  /** As when its machine loses power: no close frame, nothing said, and it does not come back. */
  kill () {
    const ws = this.target.wire === 'y' ? this.provider.ws : this.socket.webSocket
    ws?._socket?.resetAndDestroy()
    this.leave()
    this.leave = () => {}
  }

  leave () {
    this.provider.destroy()
    this.socket?.destroy()
  }
}
