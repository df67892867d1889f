import { hold, never, sleep, until } from '../wait.mjs'

const needs = { needs: 'process' }
const LONG_MS = 90_000

export const checks = {
  'restart-keeps': ['After a stop in order and a start, everything is there once', async (t) => {
    const name = t.name()
    const ann = await t.editor(name).ready()
    ann.write('before')
    await (await t.editor(name).ready()).sees('before')
    await t.restart('SIGTERM')
    await until('back', () => ann.synced && ann.connections > 1, LONG_MS)
    ann.write('after')
    const ben = await t.editor(name).ready()
    await ben.sees('before', 'after')
    await never('twice', () => ann.words.length > 2, 300)
  }, needs],
  'stop-keeps-the-last-edit': ['What was typed right before a stop in order is there for who comes after it', async (t) => {
    const name = t.name()
    const ann = await t.editor(name).ready()
    const ben = await t.editor(name).ready()
    ann.write('last words')
    await ben.sees('last words')
    await t.restart('SIGTERM', () => { ann.kill(), ben.kill() })
    await (await t.editor(name).ready()).sees('last words')
  }, needs],
  'told-is-on-disk': ['What another client was shown survives a kill -9 that follows', async (t) => {
    const name = t.name()
    const ann = await t.editor(name).ready()
    const ben = await t.editor(name).ready()
    for (let n = 0; n < 20; n++) ann.write(`${n}`)
    await ben.sees(...Array.from({ length: 20 }, (_, n) => `${n}`))
    await t.restart('SIGKILL', () => { ann.kill(), ben.kill() })
    await (await t.editor(name).ready()).sees(...Array.from({ length: 20 }, (_, n) => `${n}`))
  }, needs],
  'saved-is-on-disk': ['What a provider counts as saved survives a kill -9 that follows', async (t) => {
    const name = t.name()
    const ann = await t.editor(name).ready()
    ann.write('saved')
    await until('nothing unsaved', () => ann.provider.unsyncedChanges === 0)
    await t.restart('SIGKILL', () => ann.kill())
    await (await t.editor(name).ready()).sees('saved')
  }, { ...needs, wires: ['hocuspocus'] }],
  'killed-under-load': ['Killed while one types: whoever stays connected has it all again, once', async (t) => {
    const name = t.name()
    const [ann, ben] = [await t.editor(name).ready(), await t.editor(name).ready()]
    let typed = 0
    const typing = setInterval(() => ann.write(`${typed++}`), 20)
    await sleep(300)
    await t.restart('SIGKILL').finally(() => clearInterval(typing))
    await until('the same at both', () => ben.words.length === typed && `${ben.words}` === `${ann.words}`, LONG_MS)
    hold('each once, in order', ben.words.every((word, at) => word === `${at}`))
    await (await t.editor(name).ready()).sees(...ben.words)
  }, needs]
}
