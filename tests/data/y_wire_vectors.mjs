// Makes y_wire_vectors.json with the reference implementation:
//   node tests/data/y_wire_vectors.mjs > tests/data/y_wire_vectors.json
import * as Y from 'yjs'
import * as encoding from 'lib0/encoding'
import * as decoding from 'lib0/decoding'
import * as sync from 'y-protocols/sync'
import * as awareness from 'y-protocols/awareness'
import * as auth from 'y-protocols/auth'
const hex = u => Buffer.from(u).toString('hex')
const enc = f => { const e = encoding.createEncoder(); f(e); return hex(encoding.toUint8Array(e)) }
const out = { made_with: { lib0: '0.2.120', 'y-protocols': '1.0.7', yjs: '13.6.33' } }
out.var_uint = [0,1,63,64,127,128,129,255,256,300,16383,16384,65535,2**21-1,2**21,2**28,2**31,2**32-1,2**32,2**40+7,2**52,Number.MAX_SAFE_INTEGER].map(v => ({ value: v, bytes: enc(e => encoding.writeVarUint(e, v)) }))
out.var_string = ['', 'a', 'hello', 'é', 'e\u0301', '日本語', '😀', 'A📊B конец', '\u0000', 'x'.repeat(127), 'é'.repeat(64), 'y'.repeat(200), '\uFEFFbom'].map(v => ({ value: v, bytes: enc(e => encoding.writeVarString(e, v)) }))
out.var_bytes = [[], [0], [255,0,127,128], [...Array(130).keys()]].map(v => ({ value: hex(Uint8Array.from(v)), bytes: enc(e => encoding.writeVarUint8Array(e, Uint8Array.from(v))) }))
const doc = new Y.Doc(); doc.clientID = 4011; doc.getText('text').insert(0, 'hello 😀'); doc.getText('text').delete(1, 2)
const empty = new Y.Doc()
const msg = f => enc(e => { encoding.writeVarUint(e, 0); f(e) })
const up = Y.encodeStateAsUpdate(doc)
out.messages = {
  step1: { body: hex(Y.encodeStateVector(doc)), bytes: msg(e => sync.writeSyncStep1(e, doc)) },
  step1_empty: { body: hex(Y.encodeStateVector(empty)), bytes: msg(e => sync.writeSyncStep1(e, empty)) },
  step2: { body: hex(up), bytes: msg(e => sync.writeSyncStep2(e, doc)) },
  step2_empty: { body: hex(Y.encodeStateAsUpdate(empty)), bytes: msg(e => sync.writeSyncStep2(e, empty)) },
  update: { body: hex(up), bytes: msg(e => sync.writeUpdate(e, up)) },
  permission_denied: { body: 'nicht erlaubt ☹', bytes: enc(e => { encoding.writeVarUint(e, 2); auth.writePermissionDenied(e, 'nicht erlaubt ☹') }) },
  query_awareness: { bytes: enc(e => encoding.writeVarUint(e, 3)) }
}
const aw = (id, states) => { const d = new Y.Doc(); d.clientID = id; const a = new awareness.Awareness(d); for (const s of states) a.setLocalState(s); return a }
const cases = [
  aw(77, [{ user: { name: 'Zoë 😀', color: '#ff0000' }, cursor: null }]),
  aw(1, [null]), aw(0, []), aw(4294967295, [{}, { a: 1 }, { a: 2 }]), aw(9007199254740991, [{ n: [1, 2.5, true, null, 'x'] }]),
  aw(300, [{ name: '\ud83d' }])
]
out.awareness = cases.map(a => ({ entries: Array.from(a.meta.entries()).map(([client, m]) => ({ client, clock: m.clock, state: a.states.has(client) ? JSON.stringify(a.states.get(client)) : null })), update: hex(awareness.encodeAwarenessUpdate(a, Array.from(a.meta.keys()))), message: enc(e => { encoding.writeVarUint(e, 1); encoding.writeVarUint8Array(e, awareness.encodeAwarenessUpdate(a, Array.from(a.meta.keys()))) }) }))
// two clients in one update
const both = aw(5, [{ who: 'five' }]); awareness.applyAwarenessUpdate(both, awareness.encodeAwarenessUpdate(cases[0], [77]), 'x')
out.awareness.push({ entries: [5, 77].map(client => ({ client, clock: both.meta.get(client).clock, state: JSON.stringify(both.states.get(client)) })), update: hex(awareness.encodeAwarenessUpdate(both, [5, 77])), message: enc(e => { encoding.writeVarUint(e, 1); encoding.writeVarUint8Array(e, awareness.encodeAwarenessUpdate(both, [5, 77])) }) })
// read only answers: what an in-sync client sends for a step 1
const d2 = new Y.Doc(); Y.applyUpdate(d2, up)
out.in_sync_step2 = { document: hex(up), update: hex(Y.encodeStateAsUpdate(d2, Y.encodeStateVector(doc))) }
process.stdout.write(JSON.stringify(out, null, 1) + '\n')
process.exit(0) // the awareness timers would keep node alive
