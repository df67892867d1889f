import * as Y from 'yjs'
import { write } from '../editor.mjs'
import { hold, never, sleep, until } from '../wait.mjs'
import { awareness, bytes, isStep1, isStep2, joined, step1, step2, update } from '../wire.mjs'

export const checks = {
  'newcomer-in-sync': ['A newcomer has the document within a second', async (t) => {
    const name = t.name()
    const ann = await t.editor(name).ready()
    for (let n = 0; n < 200; n++) ann.write(`Paragraph ${n}`)
    const ben = await t.editor(name).ready()
    await ben.sees(...ann.words)
    const began = performance.now()
    const cem = await t.editor(name).ready()
    await cem.sees(...ann.words)
    return `${Math.round(performance.now() - began)} ms`
  }],
  'step-2-when-empty': ['Step 1 is answered with a step 2, also when nothing is missing', async (t) => {
    const raw = await t.raw(t.name()).sync()
    const before = raw.said.filter(isStep2).length
    raw.send(step1(Y.encodeStateVector(raw.doc)))
    await until('a second step 2', () => raw.said.filter(isStep2).length > before)
  }],
  'server-asks': ['The server asks a client what it has, and edits made offline arrive', async (t) => {
    const name = t.name()
    const ann = await t.editor(name).ready()
    const doc = new Y.Doc()
    write(doc, 'typed on the train')
    const ben = await t.editor(name, { doc }).ready()
    await ann.sees('typed on the train')
    hold('the server sent a step 1', (await t.raw(name).sync()).said.some(isStep1) && ben.synced)
  }],
  'one-message-a-frame': ['One message in each frame to clients: those up to y-websocket 3 read no second', async (t) => {
    const name = t.name()
    const ann = await t.editor(name).ready()
    ann.present({ name: 'Ann' })
    const raw = await t.raw(name).sync()
    for (let n = 0; n < 20; n++) ann.write(`${n}`)
    await until('all of it', () => raw.doc.getXmlFragment('default').length >= 20)
    hold('a frame holds more than one message', raw.said.every((said) => said.left === 0))
  }],
  'several-messages-a-frame': ['Several messages in one frame of a client are all read', async (t) => {
    const name = t.name()
    const ann = await t.editor(name).ready()
    const raw = await t.raw(name).sync()
    const sent = new Promise((resolve) => raw.doc.once('update', resolve))
    write(raw.doc, 'second message')
    raw.send(joined(step1(), update(await sent), awareness([raw.doc.clientID, 1, '{"name":"third"}'])))
    await until('the second', () => ann.words.includes('second message'), 3_000)
    await until('the third', () => ann.others.get(raw.doc.clientID)?.name === 'third')
  }, { wires: ['y'] }],
  converges: ['Three clients that write at the same time come to the same text', async (t) => {
    const name = t.name()
    const all = await Promise.all([1, 2, 3].map(() => t.editor(name).ready()))
    for (let n = 0; n < 30; n++) {
      const root = all[n % 3].doc.getXmlFragment('default')
      if (n % 7 === 6 && root.length > 2) root.delete(1, 1)
      else all[n % 3].write(`${n} äöü 😀 日本語`)
      if (n % 5 === 0) await sleep(2)
    }
    const vector = (one) => Buffer.from(Y.encodeStateVector(one.doc)).toString('hex')
    const same = () => new Set(all.map((one) => one.words.join())).size === 1
    await until('the same text', () => same() && new Set(all.map(vector)).size === 1)
  }],
  order: ['300 updates sent at once arrive in order', async (t) => {
    const name = t.name()
    const ann = await t.editor(name).ready()
    const raw = await t.raw(name).sync()
    raw.doc.on('update', (sent, origin) => origin !== 'server' && raw.send(update(sent)))
    const text = write(raw.doc, '')
    const wrong = []
    ann.doc.on('update', () => {
      const seen = (ann.words[0] ?? '').split(' ').filter((part) => part)
      if (seen.some((part, at) => part !== `${at}`)) wrong.push(seen.length)
    })
    for (let n = 0; n < 300; n++) text.insert(text.length, `${n} `)
    await until('all of them', () => ann.words[0]?.endsWith('299 '))
    hold(`out of order after ${wrong[0]}`, wrong.length === 0)
  }],
  'delete-only': ['An update that only deletes reaches the others and a newcomer', async (t) => {
    const name = t.name()
    const [ann, ben] = [await t.editor(name).ready(), await t.editor(name).ready()]
    ann.write('stays'), ann.write('goes')
    await ben.sees('stays', 'goes')
    const root = ben.doc.getXmlFragment('default')
    root.delete(root.length - 1, 1)
    await ann.sees('stays')
    await (await t.editor(name).ready()).sees('stays')
  }],
  gap: ['An update that builds on one that never came is not lost and breaks nothing', async (t) => {
    const name = t.name()
    const ann = await t.editor(name).ready()
    ann.write('base')
    const raw = await t.raw(name).sync()
    await until('the base', () => raw.doc.getXmlFragment('default').length > 0)
    const sent = []
    raw.doc.on('update', (one, origin) => origin !== 'server' && sent.push(one))
    const text = raw.doc.getXmlFragment('default').toArray().at(-1).get(0)
    text.insert(text.length, ' one')
    text.insert(text.length, ' two')
    raw.send(update(sent[1]))
    const whole = () => ann.words[0] === 'base one two'
    const asked = await until('', whole, 1_000).catch(() => false)
    if (!asked) {
      hold(`shown before it could be: ${ann.words}`, ann.words[0] === 'base')
      raw.send(update(sent[0]))
    }
    await ann.sees('base one two')
    await (await t.editor(name).ready()).sees('base one two')
    return asked ? 'asked for' : 'kept until the missing one came'
  }],
  'late-step-2': ['A client that answers the step 1 late is waited for, and holds up nobody', async (t) => {
    const name = t.name()
    const [ann, ben] = [await t.editor(name).ready(), await t.editor(name).ready()]
    const doc = new Y.Doc()
    write(doc, 'late')
    const raw = await t.raw(name).open()
    raw.send(step1())
    const { body } = await raw.next(isStep1, 'a step 1 of the server')
    ann.write('meanwhile')
    await ben.sees('meanwhile')
    raw.send(step2(Y.encodeStateAsUpdate(doc, body)))
    await until('both', () => [...ben.words].sort().join() === 'late,meanwhile')
  }],
  'empty-step-2': ['An empty step 2 is an answer', async (t) => {
    const name = t.name()
    const ann = await t.editor(name).ready()
    const raw = await t.raw(name).open()
    raw.send(step1())
    await raw.next(isStep1, 'a step 1 of the server')
    raw.send(step2())
    raw.send(bytes(99))
    const doc = new Y.Doc()
    write(doc, 'after it')
    raw.send(update(Y.encodeStateAsUpdate(doc)))
    await ann.sees('after it')
    hold('the socket stays open', raw.open_)
  }],
  'reconnect-no-double': ['Who was offline comes back to what others wrote, and nothing is there twice', async (t) => {
    const name = t.name()
    const [ann, ben] = [await t.editor(name).ready(), await t.editor(name).ready()]
    ann.write('one')
    await ben.sees('one')
    const connection = ben.socket ?? ben.provider
    connection.disconnect()
    await until('offline', () => !ben.synced)
    ann.write('two')
    ben.write('three')
    connection.connect()
    await until('all three', () => [...ann.words].sort().join() === 'one,three,two' && `${ben.words}` === `${ann.words}`)
    await never('twice', () => ann.words.length > 3, 100)
  }]
}
