import { hold, never, sleep, until } from '../wait.mjs'
import { AWARENESS, awareness, query } from '../wire.mjs'

const named = (name) => JSON.stringify({ name })

export const checks = {
  'awareness-echo': ['Awareness comes back to its sender: else idle clients reconnect every 30 s', async (t) => {
    const raw = await t.raw(t.name()).sync()
    raw.send(awareness([raw.doc.clientID, 1, named('Ann')]))
    await raw.next((said) => said.entries?.some((one) => one.client === raw.doc.clientID), 'an echo')
  }],
  'newcomer-knows-all': ['A newcomer knows everybody within a second', async (t) => {
    const name = t.name()
    const there = []
    for (const who of ['Ann', 'Ben 😀', 'Cem']) {
      const one = await t.editor(name).ready()
      one.present({ name: who })
      there.push(one)
    }
    await until('each other', () => there.every((one) => one.others.size === 2))
    const dan = await t.editor(name).ready()
    const began = performance.now()
    await until('everybody', () => there.every((one) => dan.others.get(one.doc.clientID)?.name), 1_000)
    hold('names as they were', dan.others.get(there[1].doc.clientID).name === 'Ben 😀')
    return `${Math.round(performance.now() - began)} ms after its sync`
  }],
  'killed-is-gone': ['The cursor of a client whose connection broke is gone within 5 s', async (t) => {
    const name = t.name()
    const [ann, ben] = [await t.editor(name).ready(), await t.editor(name).ready()]
    ben.present({ name: 'Ben' })
    await until('Ben', () => ann.others.has(ben.doc.clientID))
    ben.kill()
    const began = performance.now()
    await until('Ben gone', () => !ann.others.has(ben.doc.clientID), 5_000)
    return `${Math.round(performance.now() - began)} ms`
  }],
  'no-ghost': ['Nobody is there who is nobody: the server has no cursor of its own', async (t) => {
    const ann = await t.editor(t.name()).ready()
    await never('somebody in an empty room', () => ann.others.size > 0, 400)
  }],
  'no-impersonation': ["Nobody takes down or plays another's cursor", async (t) => {
    const name = t.name()
    const [ann, ben] = [await t.editor(name).ready(), await t.editor(name).ready()]
    ann.present({ name: 'Ann' })
    await until('Ann', () => ben.others.get(ann.doc.clientID)?.name === 'Ann')
    const raw = await t.raw(name).sync()
    raw.send(awareness([ann.doc.clientID, 1_000_000, 'null']))
    raw.send(awareness([ann.doc.clientID, 1_000_001, named('not Ann')]))
    raw.send(awareness([raw.doc.clientID, 1, named('Eve')]))
    await until('Eve', () => ben.others.get(raw.doc.clientID)?.name === 'Eve')
    hold('Ann is gone or played', ben.others.get(ann.doc.clientID)?.name === 'Ann')
    ann.present({ name: 'Ann again' })
    await until('what Ann says now', () => ben.others.get(ann.doc.clientID)?.name === 'Ann again', 3_000)
  }],
  'back-with-an-old-clock': ['Who comes back is seen again, and a packet from before brings no ghost', async (t) => {
    const name = t.name()
    const ann = await t.editor(name).ready()
    const first = await t.raw(name).sync()
    first.send(awareness([77, 12, named('Kim')]))
    await until('Kim', () => ann.others.get(77)?.name === 'Kim')
    first.reset()
    await until('Kim gone', () => !ann.others.has(77))
    const second = await t.raw(name).sync()
    second.send(awareness([77, 12, named('Kim')]))
    second.send(awareness([77, 13, named('Kim again')]))
    await until('Kim again', () => ann.others.get(77)?.name === 'Kim again')
    second.send(awareness([77, 11, named('ghost')]))
    await never('a ghost', () => ann.others.get(77)?.name !== 'Kim again', 200)
  }],
  'query-awareness': ['A question who is there (type 3) is answered', async (t) => {
    const name = t.name()
    const ann = await t.editor(name).ready()
    ann.present({ name: 'Ann' })
    const raw = await t.raw(name).sync()
    const about = (said) => said.type === AWARENESS && said.entries.some((one) => one.client === ann.doc.clientID)
    await raw.next(about, 'Ann, unasked', 2_000).catch(() => {})
    const before = raw.said.filter(about).length
    raw.send(query())
    await until('an answer', () => raw.said.filter(about).length > before, 2_000)
  }],
  'idle-stays': ['Two idle clients are not made to reconnect within 40 s', async (t) => {
    const name = t.name()
    const both = [await t.editor(name).ready(), await t.editor(name).ready()]
    await sleep(40_000)
    hold(`connections: ${both.map((one) => one.connections)}`, both.every((one) => one.connections === 1))
  }, { slow: true }],
  'silent-is-gone': ['A client that answers no ping is given up within 65 s, and its cursor with it', async (t) => {
    const name = t.name()
    const ann = await t.editor(name).ready()
    const raw = await t.raw(name, { autoPong: false }).sync()
    // A client's own timer would take it for gone after 30 s without a renewal: that is not the server's doing.
    const renew = setInterval(() => ann.provider.awareness.meta.has(77) &&
      (ann.provider.awareness.meta.get(77).lastUpdated = Date.now()), 1_000)
    raw.send(awareness([77, 1, named('Silent')]))
    await until('it is seen', () => ann.others.has(77))
    const began = performance.now()
    await until('it is gone', () => !ann.others.has(77), 65_000).finally(() => clearInterval(renew))
    return `${Math.round((performance.now() - began) / 1000)} s`
  }, { slow: true }]
}
