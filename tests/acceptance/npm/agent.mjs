// An agent without a model: the official MCP client, told which tools to call on stdin.
//
//   node agent.mjs --url http://127.0.0.1:8000/mcp --token T
//
// One JSON object a line. In: {tool, arguments}. Out: {result} or {thrown}, in the same order; at
// first {tools}, which also makes the client check every result against its tool's output schema.
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

const { values: options } = parseArgs({ options: {
  url: { type: 'string' }, token: { type: 'string' } } })
const say = (object) => process.stdout.write(JSON.stringify(object) + '\n')

const client = new Client({ name: 'acceptance', version: '1' })
await client.connect(new StreamableHTTPClientTransport(new URL(options.url), {
  requestInit: { headers: { Authorization: `Bearer ${options.token}` } } }))
const { tools } = await client.listTools()
say({ tools: tools.map((tool) => tool.name) })

for await (const line of createInterface({ input: process.stdin })) {
  const { tool, arguments: args } = JSON.parse(line)
  try {
    say({ result: await client.callTool({ name: tool, arguments: args }) })
  } catch (error) {
    say({ thrown: String(error) })
  }
}
await client.close()
