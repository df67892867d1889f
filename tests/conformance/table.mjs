// docactor and its peers, one after the other, in one table:
//   node table.mjs [--only COLUMN'S BEGINNING] [--check ID,ID] [--write PAGE] [--quick]
// What was seen is kept in build/conformance.json: what is not asked for stands as it was seen last.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { SERVERS } from './servers.mjs'
import { GROUPS, run } from './suite.mjs'

const text = { type: 'string' }
const { values: asked } = parseArgs({ options: { only: text, check: text, write: text, quick: { type: 'boolean' } } })
const say = (line) => process.stderr.write(`${line}\n`)
console.log = () => {} // libraries log

const KEPT = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'build', 'conformance.json')

async function measure (server) {
  say(server.column)
  const target = { wire: server.wire, ...await server.start() }
  try {
    const rows = await run(target, { slow: !asked.quick, twice: true, only: asked.check?.split(',') }, ({ id, result, note, ms }) =>
      say(`  ${result === 'pass' ? 'pass' : 'FAIL'}  ${id}  ${note.split('\n').slice(0, 3).join(' ')}  ${ms} ms`))
    return { version: server.version(), day: new Date().toISOString().slice(0, 10), rows }
  } finally {
    await target.process.stop()
  }
}

const cell = (server, id) => {
  const row = server.rows.get(id)
  if (!row) return '–'
  if (row.result === 'pass') return 'yes'
  return id in server.notPromised ? 'not promised' : '**no**'
}

function page (servers) {
  const passed = servers.map(({ rows }) => {
    const all = [...rows.values()]
    return `${all.filter(({ result }) => result === 'pass').length} of ${all.length}`
  })
  const line = (...cells) => `| ${cells.join(' | ')} |`
  const parts = [
    '# Conformance', '',
    'What unmodified clients and bare sockets see of docactor and of three other servers, as `make conformance` writes it. The suite is',
    '[tests/conformance](../../tests/conformance/README.md), which takes any server by its address; each line below is a check of it.', '',
    `On one machine, one after the other: Node ${process.version}, ${cpus().length} cores. Clients: y-websocket 3.1.0, @hocuspocus/provider 4.8.0, Yjs 13.6.33.`, '',
    line('', ...servers.map(({ column }) => column)),
    line('---', ...servers.map(() => '---')),
    line('version', ...servers.map(({ version }) => version)),
    line('seen', ...servers.map(({ day }) => day)),
    line('passed', ...passed), '',
    '**no**: the check fails, twice in a row. not promised: it fails, and nothing in that server\'s documentation says otherwise. –: it is about',
    'the other wire, or about tokens, which that server leaves to whoever builds on it.', '']
  for (const [group, checks] of Object.entries(GROUPS)) {
    parts.push(`## ${group}`, '', line('', ...servers.map(({ column }) => column)), line('---', ...servers.map(() => '---')))
    for (const [id, [title]] of Object.entries(checks)) {
      if (servers.some(({ rows }) => rows.has(id))) parts.push(line(title, ...servers.map((server) => cell(server, id))))
    }
    parts.push('')
  }
  parts.push('## What was seen where a check fails', '')
  for (const { column, rows, notPromised } of servers) {
    const failed = [...rows.values()].filter(({ result }) => result !== 'pass')
    if (failed.length === 0) continue
    parts.push(`**${column}**`, '')
    for (const { id, title, note } of failed) {
      const why = id in notPromised ? ` Not promised: ${notPromised[id]}.` : ''
      parts.push(`- ${title}: ${note.split('\n')[0].replaceAll('|', '\\|').slice(0, 300)}.${why}`)
    }
    parts.push('')
  }
  return parts.join('\n')
}

const kept = existsSync(KEPT) ? JSON.parse(readFileSync(KEPT, 'utf8')) : {}
for (const server of SERVERS.filter(({ column }) => column.startsWith(asked.only ?? ''))) {
  const { rows, ...about } = await measure(server)
  const before = (asked.check && kept[server.column]?.rows.filter(({ id }) => !rows.some((row) => row.id === id))) || []
  kept[server.column] = { ...about, rows: [...before, ...rows] }
  mkdirSync(dirname(KEPT), { recursive: true })
  writeFileSync(KEPT, JSON.stringify(kept))
}
const seen = SERVERS.filter(({ column }) => column in kept).map((server) => {
  const { version, day, rows } = kept[server.column]
  return { ...server, version, day, rows: new Map(rows.map((row) => [row.id, row])) }
})
const drawn = page(seen)
if (asked.write) writeFileSync(asked.write, drawn)
else process.stdout.write(`${drawn}\n`)
process.exit(0)
