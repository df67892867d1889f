// What an editor needs of a browser, without one: import this before any editor.
import { JSDOM } from 'jsdom'

const { window } = new JSDOM('<!doctype html><body></body>', { pretendToBeVisual: true })
const names = ['window', 'document', 'navigator', 'Node', 'Element', 'HTMLElement', 'Document', 'DocumentFragment',
  'DOMParser', 'MutationObserver', 'Event', 'KeyboardEvent', 'MouseEvent', 'ClipboardEvent', 'DataTransfer',
  'innerWidth', 'innerHeight', 'getSelection', 'getComputedStyle', 'requestAnimationFrame', 'cancelAnimationFrame']
for (const name of names) {
  const value = name === 'window' ? window : window[name]
  if (value !== undefined && !(name in globalThis)) globalThis[name] = value
}
// Nothing is laid out, so nothing has a place.
const nowhere = { left: 0, right: 0, top: 0, bottom: 0, width: 0, height: 0 }
window.Range.prototype.getClientRects = () => [nowhere]
window.Range.prototype.getBoundingClientRect = () => nowhere
window.Element.prototype.getClientRects = () => [nowhere]
window.document.elementFromPoint = () => null
// jsdom has no clipboard; editors only ask such an event whether it has data.
globalThis.ClipboardEvent ??= class extends window.Event { clipboardData = null }
