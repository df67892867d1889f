import { randomBytes } from 'node:crypto'
import * as Y from 'yjs'
import { write } from '../editor.mjs'
import { hold, sleep, until } from '../wait.mjs'
import { addressed, awareness, bytes, joined, step1, update } from '../wire.mjs'

/** Two editors who type for as long as `work` takes, and who must not notice it. */
async function unharmed (t, work) {
  const name = t.name()
  const [ann, ben] = [await t.editor(name).ready(), await t.editor(name).ready()]
  ann.present({ name: 'Ann' })
  let typed = 0
  const typing = setInterval(() => ann.write(`${typed++}`), 40)
  await work(name, ann, ben).finally(() => clearInterval(typing))
  ann.write('the end')
  await until('what was typed', () => ben.words.at(-1) === 'the end' && ben.words.join() === ann.words.join())
  hold(`${typed} typed`, ben.words.length >= typed)
  hold('an editor had to reconnect', ann.connections === 1 && ben.connections === 1)
  const cem = await t.editor(name).ready()
  await cem.sees(...ann.words)
}

/** One socket for each, as the first bad one may end it. */
async function each (t, name, frames) {
  for (const frame of frames) {
    const raw = await t.raw(name).open().catch(() => null)
    if (!raw) continue
    if (typeof frame === 'string') raw.ws.send(frame)
    else raw.send(frame)
    await sleep(2)
    raw.close()
  }
}

export const checks = {
  'unknown-type': ['A message of an unknown type is ignored', async (t) => {
    const name = t.name()
    const ann = await t.editor(name).ready()
    const raw = await t.raw(name).sync()
    raw.send(bytes(99, 1, 2, 3))
    const doc = new Y.Doc()
    write(doc, 'after it')
    raw.send(update(Y.encodeStateAsUpdate(doc)))
    await ann.sees('after it')
  }],
  garbage: ['Garbage costs only the socket that sent it', (t) => unharmed(t, async (name) => {
    await each(t, name, [
      bytes(), bytes(0), bytes(0, 0), bytes(0, 2), bytes(0, 7, 0), bytes(5, 1), bytes(1), bytes(2), bytes(2, 9),
      bytes(0, 2, 255, 255, 255, 255, 15), bytes(1, 255, 255, 255, 255, 15), bytes(0, 0, 4, 1, 2, 3, 4),
      bytes(...Array(30).fill(255)), ...Array.from({ length: 40 }, () => Uint8Array.from(randomBytes(30)))])
    const raw = await t.raw(name).open()
    for (const frame of [bytes(), bytes(255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1)]) raw.frame(frame)
  })],
  'text-frame': ['A text frame costs only the socket that sent it', (t) => unharmed(t, (name) =>
    each(t, name, ['hello', '', '{"type":"sync"}']))],
  'damaged-updates': ['Updates cut short, at any byte, cost only their sender', (t) => unharmed(t, async (name) => {
    const doc = new Y.Doc()
    write(doc, 'BAD')
    const whole = Y.encodeStateAsUpdate(doc)
    await each(t, name, Array.from({ length: whole.length }, (_, end) => update(whole.slice(0, end))))
  })],
  'bad-awareness': ['Presence that is no JSON, or claims a million entries, reaches no other client', (t) => unharmed(t, (name) =>
    each(t, name, [awareness([5, 1, '{"name":']), awareness([6, 1, '\u0000']), bytes(1, 4, 192, 132, 61, 0)]))],
  flood: ['3,000 bad frames from ten sockets at once disturb nobody', (t) => unharmed(t, async (name) => {
    await Promise.all(Array.from({ length: 10 }, async () => {
      let raw = await t.raw(name).open()
      for (let n = 0; n < 300; n++) {
        if (!raw.open_) raw = await t.raw(name).open()
        raw.send(n % 3 ? bytes(40 + n % 80, ...randomBytes(20)) : update(Uint8Array.from(randomBytes(20))))
        if (n % 30 === 0) await sleep(1)
      }
      raw.close()
    }))
  })],
  'large-paste': ['4 MiB pasted in one transaction reach another client and a newcomer', async (t) => {
    const name = t.name()
    const [ann, ben] = [await t.editor(name).ready(), await t.editor(name).ready()]
    ann.write('word '.repeat(2 ** 22 / 5))
    await until('all of it', () => ben.words[0]?.length > 4_000_000, 20_000)
    const cem = await t.editor(name).ready()
    await until('all of it at a newcomer', () => cem.words[0]?.length > 4_000_000, 20_000)
    hold('an editor had to reconnect', ann.connections === 1 && ben.connections === 1)
  }],
  'claimed-length': ['A frame that claims 4 GiB is refused by its length, and costs only its sender', (t) => unharmed(t, async (name) => {
    const raw = await t.raw(name).open()
    raw.ws._socket.write(joined(bytes(0x82, 0xff), new Uint8Array(new BigUint64Array([2n ** 32n]).buffer).reverse(), bytes(0, 0, 0, 0)))
    await until('it is closed', () => raw.code !== null, 5_000)
  })],
  'slow-reader': ['A reader that stops reading slows nobody, and misses nothing without being told', async (t) => {
    const name = t.name()
    const [ann, cem] = [await t.editor(name).ready(), await t.editor(name).ready()]
    const slow = await t.raw(name).sync()
    slow.ws.pause()
    const text = ann.write('')
    for (let n = 0; n < 24; n++) {
      text.insert(0, 'x'.repeat(1_000_000))
      text.delete(0, 1_000_000)
      await sleep(5)
    }
    ann.write('the end')
    await until('the end', () => cem.words.at(-1) === 'the end', 20_000)
    slow.ws.resume()
    const end = () => slow.doc.getXmlFragment('default').toArray().some((one) => `${one}`.includes('the end'))
    await until('the end, or that its socket is closed', () => end() || slow.code !== null, 20_000)
    return slow.code === null ? 'served late' : `closed with ${slow.code}`
  }],
  'reset-while-told': ['A connection reset while it is written to takes nobody along', (t) => unharmed(t, async (name, ann) => {
    const broken = await Promise.all([1, 2, 3].map(() => t.raw(name).sync()))
    for (let n = 0; n < 60; n++) {
      ann.write(`told ${n}`)
      if (n % 20 === 10) broken.pop().reset()
      await sleep(1)
    }
  })],
  'step-1-garbage': ['A state vector that is none costs only its sender', (t) => unharmed(t, (name) =>
    each(t, name, [step1(bytes()), step1(bytes(255, 255, 255)), step1(Uint8Array.from(randomBytes(50)))]))],
  'bad-address': ["A frame whose document's name is no string costs only its sender", (t) => unharmed(t, async (name) => {
    const raw = await t.raw(name).open()
    for (const frame of [bytes(5, 255, 254, 253, 1, 2, 0), bytes(200, 1), addressed('', bytes(0))]) raw.frame(frame)
  }), { wires: ['hocuspocus'] }]
}
