import * as Y from 'yjs'
import { write } from '../editor.mjs'
import { hold, never, sleep, until } from '../wait.mjs'
import { AUTH, PING, PONG, STATELESS, STATUS, awareness, broadcastStateless, bytes, detach, isStep1, isStep2, stateless, step1, step2, token, update } from '../wire.mjs'

const only = { wires: ['hocuspocus'] }
const saved = (raw) => raw.said.filter((said) => said.type === STATUS && said.status === 1).length
const edit = (words) => {
  const doc = new Y.Doc()
  write(doc, words)
  return update(Y.encodeStateAsUpdate(doc))
}

export const checks = {
  'auth-scope': ['A token is answered with its scope', async (t) => {
    const raw = await t.raw(t.name()).open()
    const { answer, text } = raw.said.find((said) => said.type === AUTH)
    hold(`answered ${answer} ${text}`, answer === 2 && text === 'read-write')
  }, only],
  'queued-until-authorised': ['What comes with the token, without waiting for its answer, counts', async (t) => {
    const name = t.name()
    const ann = await t.editor(name).ready()
    const raw = t.raw(name)
    await until('an open socket', () => raw.open_)
    raw.send(token(t.target.token ?? ''))
    raw.send(step1())
    raw.send(awareness([9, 1, '{"name":"early"}']))
    raw.send(edit('early'))
    await raw.next(isStep2, 'a step 2')
    await ann.sees('early')
    await until('the early one', () => ann.others.get(9)?.name === 'early')
  }, only],
  'several-documents': ['Several documents share a socket, and one that detaches costs the others nothing', async (t) => {
    const names = [t.name(), t.name(), t.name()]
    const first = await t.editor(names[0]).ready()
    const [second, third] = [t.editor(names[1], { beside: first }), t.editor(names[2], { beside: first })]
    await second.ready(), await third.ready()
    for (const one of [first, second, third]) one.write(`in ${one.name}`)
    second.provider.destroy()
    for (const name of names) await (await t.editor(name).ready()).sees(`in ${name}`)
    first.write('goes on')
    await (await t.editor(names[0]).ready()).sees(`in ${names[0]}`, 'goes on')
    hold('one socket', first.connections === 1)
  }, only],
  'one-status-each': ['Each update is acknowledged exactly once', async (t) => {
    const raw = await t.raw(t.name()).open()
    raw.send(step1())
    const { body } = await raw.next(isStep1, 'a step 1')
    raw.send(step2(Y.encodeStateAsUpdate(new Y.Doc(), body)))
    await until('the step 2 acknowledged', () => saved(raw) === 1)
    for (let n = 0; n < 5; n++) raw.send(edit(`${n}`))
    await until('five more', () => saved(raw) >= 6)
    await never('one too many', () => saved(raw) > 6, 200)
  }, only],
  'unsynced-is-0': ["A provider's unsyncedChanges come to 0", async (t) => {
    const ann = await t.editor(t.name()).ready()
    for (let n = 0; n < 10; n++) ann.write(`${n}`)
    await until('0', () => ann.provider.unsyncedChanges === 0)
  }, only],
  ping: ['A one-byte ping is answered with a one-byte pong', async (t) => {
    const raw = await t.raw(t.name()).open()
    raw.frame(PING)
    await until('a pong', () => raw.frames.some((frame) => frame.length === 1 && frame[0] === PONG[0]), 3_000)
  }, only],
  'non-ascii-name': ['A name that is not ASCII comes back byte for byte', async (t) => {
    const raw = await t.raw(`Übung 日本語 😀 ${Math.random()}`).open()
    hold('answered', raw.said.some((said) => said.type === AUTH))
  }, only],
  'session-address': ['Two providers of one document on a socket are told apart by their session ids', async (t) => {
    const name = t.name()
    const ann = await t.editor(name).ready()
    const first = await t.raw(name, { address: `${name}\0a` }).sync()
    const second = await t.raw(name, { address: `${name}\0b`, over: first }).sync()
    ann.write('for both')
    for (const one of [first, second]) await until('the words', () => one.doc.getXmlFragment('default').length > 0)
  }, only],
  'detached-is-gone': ['The cursor of who detaches is gone, while the socket stays', async (t) => {
    const name = t.name()
    const ann = await t.editor(name).ready()
    const raw = await t.raw(name).sync()
    raw.send(awareness([77, 1, '{"name":"Kim"}']))
    await until('Kim', () => ann.others.has(77))
    raw.send(detach())
    await until('Kim gone', () => !ann.others.has(77), 3_000)
    hold('the socket stays open', raw.open_)
  }, only],
  'token-again': ['A token sent on a live document is answered, and costs no edit', async (t) => {
    const name = t.name()
    const ann = await t.editor(name).ready()
    const raw = await t.raw(name).sync()
    raw.send(token(t.target.token ?? ''))
    raw.send(edit('with a new token'))
    await ann.sees('with a new token')
  }, only],
  stateless: ['A stateless message nobody knows costs nothing', async (t) => {
    const name = t.name()
    const ann = await t.editor(name).ready()
    const raw = await t.raw(name).sync()
    raw.send(stateless('anybody there?'))
    raw.send(edit('goes on'))
    await ann.sees('goes on')
  }, only],
  'no-broadcast-from-clients': ["Clients cannot send as the server: a client's broadcast (type 6) reaches nobody", async (t) => {
    const name = t.name()
    const other = await t.raw(name).sync()
    const raw = await t.raw(name).sync()
    raw.send(broadcastStateless('from the server'))
    await never('it', () => other.said.some((said) => said.type === STATELESS), 300)
  }, only],
  'before-the-token': ['Before its token a socket gets nothing and does nothing', async (t) => {
    const name = t.name()
    const ann = await t.editor(name).ready()
    ann.write('secret')
    const raw = t.raw(name)
    await until('an open socket', () => raw.open_)
    raw.send(step1())
    raw.send(edit('unasked'))
    await sleep(300)
    hold('it was told something', !raw.said.some((said) => isStep2(said)))
    hold('it wrote', !ann.words.includes('unasked'))
    raw.frame(bytes(9))
  }, only]
}
