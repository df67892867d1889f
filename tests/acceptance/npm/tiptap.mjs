// Tiptap editors without a screen: the published packages, told what to do on stdin. Many editors in
// one process, each on a Yjs document of its own.
//
//   node tiptap.mjs
//
// One JSON object a line. In: {do: an act, editor: number, …}; the acts stand below. Out: {…answer},
// always with `sent`: the updates the editor made since the last answer, base64. What `apply` brings
// comes from elsewhere and is not counted as sent.
import './screen.mjs'
import { createInterface } from 'node:readline'
import { Editor } from '@tiptap/core'
import Collaboration from '@tiptap/extension-collaboration'
import Highlight from '@tiptap/extension-highlight'
import Image from '@tiptap/extension-image'
import { TaskItem, TaskList } from '@tiptap/extension-list'
import Subscript from '@tiptap/extension-subscript'
import Superscript from '@tiptap/extension-superscript'
import { TableKit } from '@tiptap/extension-table'
import { NodeSelection, TextSelection } from '@tiptap/pm/state'
import { CellSelection } from '@tiptap/pm/tables'
import StarterKit from '@tiptap/starter-kit'
import WebSocket from 'ws'
import * as Y from 'yjs'
import { WebsocketProvider } from 'y-websocket'

const REMOTE = 'remote'
const bytes = (text) => Buffer.from(text, 'base64')
const base64 = (data) => Buffer.from(data).toString('base64')

class Desk {
  constructor (doc) {
    this.doc = doc
    this.sent = []
    doc.on('update', (update, origin) => {
      if (origin !== REMOTE && origin !== this.provider) this.sent.push(base64(update))
    })
  }

  show () {
    this.editor = new Editor({
      element: document.body.appendChild(document.createElement('div')),
      extensions: [
        StarterKit.configure({ undoRedo: false, link: { openOnClick: false } }),
        TableKit, TaskList, TaskItem.configure({ nested: true }), Image,
        Highlight.configure({ multicolor: true }), Subscript, Superscript,
        Collaboration.configure({ document: this.doc, field: 'default' })
      ]
    })
  }

  get view () { return this.editor.view }
  get state () { return this.view.state }

  end () {
    this.provider?.destroy()
    this.editor?.destroy()
    document.body.replaceChildren()
  }

  // The place right before or behind the first `words` of a textblock.
  find (words, behind) {
    let found = null
    this.state.doc.descendants((node, pos) => {
      if (found !== null || !node.isTextblock) return found === null
      const at = node.textBetween(0, node.content.size, null, '\n').indexOf(words)
      if (at >= 0) found = pos + 1 + at + (behind ? words.length : 0)
      return false
    })
    if (found === null) throw new Error(`no ${JSON.stringify(words)} in ${this.state.doc}`)
    return found
  }

  select (from, to = from) {
    const { doc, tr } = this.state
    const size = doc.content.size
    const [start, end] = [from, to].map((at) => doc.resolve(Math.max(0, Math.min(at, size))))
    this.view.dispatch(tr.setSelection(TextSelection.between(start, end)))
  }

  // As the browser would: input rules first, then plain insertion.
  type (letter) {
    const { from, to } = this.state.selection
    const plain = () => this.state.tr.insertText(letter, from, to)
    if (!this.view.someProp('handleTextInput', (take) => take(this.view, from, to, letter, plain))) {
      this.view.dispatch(plain())
    }
  }

  press (name) {
    const parts = name.split('-')
    const key = parts.pop()
    const event = new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true,
      shiftKey: parts.includes('Shift'), altKey: parts.includes('Alt'), ctrlKey: parts.includes('Mod') })
    if (this.view.someProp('handleKeyDown', (take) => take(this.view, event))) return
    const { empty, from, to, $from } = this.state.selection
    if (key === 'Backspace' && (!empty || $from.parentOffset > 0)) {
      this.view.dispatch(this.state.tr.delete(empty ? from - 1 : from, to))
    }
  }
}

const desks = new Map()
// Editors put off work to the next turns of the loop: what they do on opening is then done.
const turns = async () => {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setTimeout(resolve))
}
const put = (number, desk) => { desks.set(number, desk); desk.show() }

const acts = {
  open: (_, { editor, state }) => {
    const doc = new Y.Doc()
    if (state) Y.applyUpdate(doc, bytes(state), REMOTE)
    put(editor, new Desk(doc))
  },
  connect: async (_, { editor, url, doc: name, token }) => {
    const doc = new Y.Doc()
    const desk = new Desk(doc)
    desk.provider = new WebsocketProvider(url, name, doc, {
      protocols: [`docactor.${token}`], WebSocketPolyfill: WebSocket, disableBc: true })
    await new Promise((resolve) => desk.provider.once('sync', resolve))
    put(editor, desk)
  },
  apply: (desk, { update }) => Y.applyUpdate(desk.doc, bytes(update), REMOTE),
  close: (desk, { editor }) => { desk.end(); desks.delete(editor) },
  look: () => {},
  click: (desk) => { desk.editor.commands.focus('end'); desk.select(0) },
  caret: (desk, { before, after }) => desk.select(desk.find(before ?? after, before === undefined)),
  select: (desk, { words, to = words }) => desk.select(desk.find(words, false), desk.find(to, true)),
  span: (desk, { from, to }) => {
    const size = desk.state.doc.content.size
    desk.select(Math.round(from * size), Math.round(to * size))
  },
  node: (desk, { block }) => {
    const at = desk.state.doc.children.slice(0, block).reduce((sum, node) => sum + node.nodeSize, 0)
    desk.view.dispatch(desk.state.tr.setSelection(NodeSelection.create(desk.state.doc, at)))
  },
  cells: (desk, { from, to }) => {
    const cell = (words) => {
      const place = desk.state.doc.resolve(desk.find(words, false))
      for (let depth = place.depth; ; depth -= 1) {
        if (/^table(Cell|Header)$/.test(place.node(depth).type.name)) return place.before(depth)
      }
    }
    desk.view.dispatch(desk.state.tr.setSelection(CellSelection.create(desk.state.doc, cell(from), cell(to))))
  },
  append: (desk) => desk.editor.commands.insertContentAt(desk.state.doc.content.size, '<p>more</p>'),
  type: (desk, { text }) => { for (const letter of text) desk.type(letter) },
  press: (desk, { keys }) => { for (const key of keys) desk.press(key) },
  paste: (desk, { html, text }) => html === undefined ? desk.view.pasteText(text) : desk.view.pasteHTML(html),
  run: (desk, { command, arguments: given = [] }) => desk.editor.commands[command](...given),
  tick: (desk) => desk.view.dom.querySelectorAll('li input[type=checkbox]').forEach((box) => box.click())
}

for await (const line of createInterface({ input: process.stdin })) {
  const { do: act, ...rest } = JSON.parse(line)
  let answer
  try {
    await acts[act](desks.get(rest.editor), rest)
    await turns()
    const desk = desks.get(rest.editor)
    answer = desk === undefined ? { sent: [] } : {
      sent: desk.sent.splice(0),
      vector: base64(Y.encodeStateVector(desk.doc)),
      text: desk.state.doc.children.map((node) => node.textBetween(0, node.content.size, '\n', '\n')),
      shown: desk.state.doc.toString()
    }
  } catch (error) {
    answer = { error: error.stack }
  }
  process.stdout.write(JSON.stringify(answer) + '\n')
}
process.exit(0)
