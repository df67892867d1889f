// Runs checks against one server: `run(target, options)` -> [{id, title, result, note, ms}].
import { checks as access } from './checks/access.mjs'
import { checks as awareness } from './checks/awareness.mjs'
import { checks as disk } from './checks/disk.mjs'
import { checks as hocuspocus } from './checks/hocuspocus.mjs'
import { checks as hostile } from './checks/hostile.mjs'
import { checks as sync } from './checks/sync.mjs'
import { Editor } from './editor.mjs'
import { Failed, sleep } from './wait.mjs'
import { Raw } from './wire.mjs'

export const GROUPS = {
  'In sync': sync, 'Who is there': awareness, 'Hostile and slow': hostile, 'Who may': access,
  'On disk': disk, 'Hocuspocus': hocuspocus }
const CHECK_MS = 200_000

/** One check's stage: what it opens is closed after it. */
class Stage {
  constructor (target) {
    this.target = target
    this.open = []
  }

  name () { return this.target.name() }
  editor (name, options) { return this.#kept(new Editor(this.target, name, options)) }
  raw (name, options) { return this.#kept(new Raw(this.target, name, options)) }
  /** `stopped` is called while nothing runs. */
  restart (signal, stopped = () => {}) { return this.target.process.restart(signal, stopped) }

  #kept (one) {
    this.open.push(one)
    return one
  }

  close () {
    for (const one of this.open.reverse()) (one instanceof Raw ? one.close() : one.leave())
  }
}

const applies = (target, { wires = ['y', 'hocuspocus'], needs, slow }, options) =>
  wires.includes(target.wire) && (!needs || target[needs]) && (!slow || options.slow)

async function one (target, check) {
  const stage = new Stage(target)
  let accident = null
  const harmed = (error) => { accident ??= error }
  process.on('uncaughtException', harmed)
  process.on('unhandledRejection', harmed)
  const began = performance.now()
  try {
    const late = sleep(CHECK_MS).then(() => { throw new Failed('it takes too long') })
    late.catch(() => {})
    const note = await Promise.race([check(stage), late])
    if (accident) throw new Failed(`a client was harmed: ${accident.message}`)
    return { result: 'pass', note: note ?? '', ms: Math.round(performance.now() - began) }
  } catch (error) {
    const note = error instanceof Failed ? error.message : `${error.stack}`
    return { result: 'fail', note: accident ? `${note}; a client was harmed: ${accident.message}` : note, ms: Math.round(performance.now() - began) }
  } finally {
    stage.close()
    await sleep(20)
    process.off('uncaughtException', harmed)
    process.off('unhandledRejection', harmed)
  }
}

/**
 * `twice`: what fails is tried once more on a server started afresh, and that result counts: what an earlier
 * check broke, or a machine that has other things to do, is no fault of this one.
 *
 * Those that take a minute do so together, at the end.
 */
export async function run (target, options = {}, tell = () => {}) {
  const results = []
  const slow = []
  for (const [group, checks] of Object.entries(GROUPS)) {
    for (const [id, [title, check, conditions = {}]] of Object.entries(checks)) {
      if (options.only && !options.only.includes(id) && !options.only.includes(group)) continue
      if (!applies(target, conditions, options)) continue
      const measure = async () => {
        const row = { id, group, title, ...await one(target, check) }
        if (options.twice && row.result === 'fail' && !target.process.dead) {
          await target.process.restart('SIGKILL', () => {})
          Object.assign(row, await one(target, check))
        }
        if (target.process?.dead) Object.assign(row, { result: 'fail', note: 'the server process ended' })
        results.push(row)
        tell(row)
      }
      if (conditions.slow) slow.push(measure)
      else {
        await target.process?.revive()
        await measure()
      }
    }
  }
  await target.process?.revive()
  await Promise.all(slow.map((measure) => measure()))
  return results
}
