// What prosemirror-tables makes of tables, without an editor: its `fixTables`, again and again, as an
// editor's plugin calls it until there is nothing left to mend.
//
//   node tables.mjs
//
// One JSON table a line, in and out: [[[kind, colspan, rowspan, colwidth, words], …a row], …]. Out is
// null when the table is deleted, and "endless" when it is never done.
import { createInterface } from 'node:readline'
import { Schema } from '@tiptap/pm/model'
import { EditorState } from '@tiptap/pm/state'
import { fixTables } from '@tiptap/pm/tables'

const ROUNDS = 60
const attrs = { colspan: { default: 1 }, rowspan: { default: 1 }, colwidth: { default: null } }
const schema = new Schema({ nodes: {
  doc: { content: 'table*' },
  table: { content: 'tableRow+', tableRole: 'table' },
  tableRow: { content: '(tableCell | tableHeader)*', tableRole: 'row' },
  tableCell: { content: 'text*', attrs, tableRole: 'cell' },
  tableHeader: { content: 'text*', attrs, tableRole: 'header_cell' },
  text: {}
} })

const cell = ([kind, colspan, rowspan, colwidth, words]) =>
  schema.node(kind, { colspan, rowspan, colwidth }, words ? [schema.text(words)] : [])
const table = (rows) => schema.node('table', null, rows.map((row) => schema.node('tableRow', null, row.map(cell))))
const told = (node) => [node.type.name, node.attrs.colspan, node.attrs.rowspan, node.attrs.colwidth, node.textContent]

const mended = (rows) => {
  let state = EditorState.create({ doc: schema.node('doc', null, [table(rows)]) })
  for (let round = 0; round < ROUNDS; round += 1) {
    const tr = fixTables(state)
    if (tr === undefined) return state.doc.firstChild.children.map((row) => row.children.map(told))
    state = state.apply(tr)
    if (state.doc.childCount === 0) return null
  }
  return 'endless'
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(mended(JSON.parse(line))) + '\n')
}
