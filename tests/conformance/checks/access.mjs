import * as Y from 'yjs'
import { write } from '../editor.mjs'
import { hold, never, until } from '../wait.mjs'
import { AUTH, STATUS, awareness, isStep1, step1, step2, update } from '../wire.mjs'

const needs = { needs: 'readToken' }

export const checks = {
  'read-only-edit': ["A reader's edit reaches nobody, and the reader is told", async (t) => {
    const name = t.name()
    const ann = await t.editor(name).ready()
    const reader = await t.raw(name, { shown: t.target.readToken }).sync()
    const doc = new Y.Doc()
    write(doc, 'not allowed')
    reader.send(update(Y.encodeStateAsUpdate(doc)))
    await reader.next((said) => (said.type === STATUS && said.status === 0) || (said.type === AUTH && said.answer === 0), 'a refusal')
    await never('the edit', () => ann.words.length > 0, 200)
    ann.write('read this')
    await until('the reader reads on', () => reader.doc.getXmlFragment('default').length > 0)
    await (await t.editor(name).ready()).sees('read this')
  }, needs],
  'read-only-awareness': ['A reader may be seen', async (t) => {
    const name = t.name()
    const ann = await t.editor(name).ready()
    const reader = await t.raw(name, { shown: t.target.readToken }).sync()
    reader.send(awareness([reader.doc.clientID, 1, '{"name":"Rea"}']))
    await until('the reader', () => ann.others.get(reader.doc.clientID)?.name === 'Rea')
  }, needs],
  'read-only-in-sync': ["A reader's step 2 that brings nothing new is no edit, also when something was deleted", async (t) => {
    const name = t.name()
    const ann = await t.editor(name).ready()
    ann.write('stays'), ann.write('goes')
    ann.doc.getXmlFragment('default').delete(1, 1)
    const known = new Y.Doc()
    Y.applyUpdate(known, Y.encodeStateAsUpdate(ann.doc))
    await (await t.editor(name).ready()).sees(...ann.words)
    const reader = await t.raw(name, { shown: t.target.readToken }).open()
    reader.send(step1(Y.encodeStateVector(known)))
    const { body } = await reader.next(isStep1, 'a step 1')
    reader.send(step2(Y.encodeStateAsUpdate(known, body)))
    if (t.target.wire === 'hocuspocus') await reader.next((said) => said.type === STATUS && said.status === 1, 'that it is saved')
    await never('a refusal', () => reader.said.some((said) =>
      (said.type === STATUS && said.status === 0) || (said.type === AUTH && said.answer === 0)), 200)
    hold('the socket stays open', reader.open_)
  }, needs],
  'bad-token': ['A bad token is told in a way that its client does not retry', async (t) => {
    if (t.target.wire === 'y') {
      const raw = t.raw(t.name(), { shown: t.target.badToken })
      await until('a closed socket', () => raw.code !== null)
      hold(`closed with ${raw.code}, which clients retry`, raw.code >= 4400 && raw.code < 4500)
      return `close code ${raw.code}`
    }
    const name = t.name()
    const ann = await t.editor(name).ready()
    const ben = t.editor(t.name(), { shown: t.target.badToken, beside: ann })
    await until('permission denied', () => ben.denied !== null)
    ann.write('the other document of that socket goes on')
    await (await t.editor(name).ready()).sees('the other document of that socket goes on')
    hold('the socket stays open', ann.connections === 1)
  }, { needs: 'badToken' }]
}
