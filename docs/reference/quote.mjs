// Where a quoted sentence stands in an editor: the same unit by which the server takes a quote.
// tests/data/quotes.json holds what both answer. See chat.md.

/** Texts of the textblocks of a ProseMirror document (`doc.toJSON()`), in document order. What is no
 *  text in a line (a hard break, an image) is a newline, which no quote holds. */
export function textblocks(node) {
  const content = node.content ?? []
  const own = content.some((child) => child.type === 'text')
    ? [content.map((child) => (child.type === 'text' ? child.text : '\n')).join('')]
    : []
  return [...own, ...content.flatMap((child) => (child.type === 'text' ? [] : textblocks(child)))]
}

/** `[number of the textblock, from, to]` in UTF-16 units, as JavaScript counts; null: it is not there. */
export function findQuote(quote, texts) {
  const needle = quote.trim()
  if (!needle) return null
  for (const [number, text] of texts.entries()) {
    const at = text.indexOf(needle)
    if (at >= 0) return [number, at, at + needle.length]
  }
  return null
}
