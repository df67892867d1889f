// Frames of both wires, made with lib0 as the protocols define them, and a socket that sends what it is told.
import * as decoding from 'lib0/decoding'
import * as encoding from 'lib0/encoding'
import WebSocket from 'ws'
import * as Y from 'yjs'
import { until } from './wait.mjs'

export const SYNC = 0, AWARENESS = 1, AUTH = 2, QUERY = 3, STATELESS = 5, BROADCAST = 6, CLOSE = 7, STATUS = 8
export const PING = Uint8Array.of(9), PONG = Uint8Array.of(10)
const STEP_1 = 0, STEP_2 = 1, UPDATE = 2

const message = (...parts) => {
  const encoder = encoding.createEncoder()
  for (const part of parts) {
    if (typeof part === 'number') encoding.writeVarUint(encoder, part)
    else if (typeof part === 'string') encoding.writeVarString(encoder, part)
    else encoding.writeVarUint8Array(encoder, part)
  }
  return encoding.toUint8Array(encoder)
}
export const step1 = (vector = Uint8Array.of(0)) => message(SYNC, STEP_1, vector)
export const step2 = (update = Uint8Array.of(0, 0)) => message(SYNC, STEP_2, update)
export const update = (bytes) => message(SYNC, UPDATE, bytes)
export const query = () => message(QUERY)
export const token = (text) => message(AUTH, 0, text, '4.8.0')
export const stateless = (text) => message(STATELESS, text)
export const broadcastStateless = (text) => message(BROADCAST, text)
export const detach = () => message(CLOSE)
export const bytes = (...values) => Uint8Array.from(values)
export const joined = (...parts) => Uint8Array.from(Buffer.concat(parts))
/** entries: [client, clock, state's JSON text] */
export const awareness = (...entries) => message(AWARENESS, message(entries.length, ...entries.flat()))
export const addressed = (address, data) => joined(message(address), data)

/** What a server's message says; `left` counts bytes behind it. Throws when it is none. */
function read (decoder) {
  const type = decoding.readVarUint(decoder)
  const said = { type }
  if (type === SYNC) {
    said.step = decoding.readVarUint(decoder)
    said.body = decoding.readVarUint8Array(decoder)
  } else if (type === AWARENESS) {
    const inner = decoding.createDecoder(decoding.readVarUint8Array(decoder))
    said.entries = Array.from({ length: decoding.readVarUint(inner) }, () => ({
      client: decoding.readVarUint(inner), clock: decoding.readVarUint(inner), state: decoding.readVarString(inner) }))
  } else if (type === AUTH) {
    said.answer = decoding.readVarUint(decoder)
    said.text = decoding.hasContent(decoder) ? decoding.readVarString(decoder) : ''
  } else if (type === STATUS) said.status = decoding.readVarUint(decoder)
  else if (type === STATELESS || type === BROADCAST) said.text = decoding.readVarString(decoder)
  else decoder.pos = decoder.arr.length
  said.left = decoder.arr.length - decoder.pos
  return said
}
export const isStep1 = (said) => said.type === SYNC && said.step === STEP_1
export const isStep2 = (said) => said.type === SYNC && said.step === STEP_2
export const isUpdate = (said) => said.type === SYNC && said.step === UPDATE

/** Where a client connects on this wire, and what it shows at the handshake. */
export function handshake (target, name, shown) {
  const [kind, form] = target.wire === 'y' && target.auth && shown ? target.auth.split(/:(.*)/s) : []
  const shownAs = form?.replace('{token}', encodeURIComponent(shown))
  const url = target.wire === 'y' ? `${target.url.replace(/\/$/, '')}/${encodeURIComponent(name)}` : target.url
  return {
    url: kind === 'query' ? `${url}?${shownAs}` : url,
    protocols: kind === 'subprotocol' ? [form.replace('{token}', shown)] : []
  }
}

/** One document on a bare socket: nothing is sent by itself but the token. */
export class Raw {
  constructor (target, name, { shown = target.token, address = name, over = null, ...options } = {}) {
    const { url, protocols } = handshake(target, name, shown)
    Object.assign(this, { target, name, shown, address, said: [], frames: [], code: null })
    this.ws = over?.ws ?? new WebSocket(url, protocols, { perMessageDeflate: false, ...options })
    this.ws.binaryType = 'nodebuffer'
    this.ws.on('error', () => {})
    this.ws.on('close', (code) => { this.code = code })
    this.ws.on('message', (data) => this.#take(Uint8Array.from(data)))
  }

  #take (data) {
    this.frames.push(data)
    const decoder = decoding.createDecoder(data)
    if (this.target.wire === 'hocuspocus') {
      if (data.length === 1) return
      if (decoding.readVarString(decoder) !== this.address) return
    }
    const said = read(decoder)
    this.said.push(said)
    if (isStep1(said)) this.onStep1?.(said.body)
    if ((isStep2(said) || isUpdate(said)) && this.doc) Y.applyUpdate(this.doc, said.body, 'server')
  }

  /** Open, and on the Hocuspocus wire let in. */
  async open () {
    await until('an open socket', () => this.ws.readyState === WebSocket.OPEN || this.code !== null)
    if (this.target.wire === 'hocuspocus') {
      this.send(token(this.shown ?? ''))
      await this.next((said) => said.type === AUTH && said.answer !== 0, 'an answer to the token')
    }
    return this
  }

  /** Open, in sync with `doc`, every question of the server answered. */
  async sync (doc = new Y.Doc()) {
    this.doc = doc
    this.onStep1 = (vector) => this.send(step2(Y.encodeStateAsUpdate(doc, vector)))
    await this.open()
    this.send(step1(Y.encodeStateVector(doc)))
    await this.next(isStep2, 'a step 2')
    await until('a step 1 of the server', () => this.said.some(isStep1))
    return this
  }

  send (data) { this.frame(this.target.wire === 'y' ? data : addressed(this.address, data)) }
  frame (data) { if (this.ws.readyState === WebSocket.OPEN) this.ws.send(data) }
  /** The first that fits, of those said already or yet to come. */
  next (fits, what, ms) { return until(what, () => this.said.find(fits), ms) }
  get open_ () { return this.ws.readyState === WebSocket.OPEN }
  reset () { this.ws._socket?.resetAndDestroy() }
  close () { this.ws.terminate() }
}
