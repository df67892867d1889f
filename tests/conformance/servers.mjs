// The servers that `make conformance` compares: how each is started, and what it does not promise.
import { mkdtempSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ServerProcess, freePort } from './process.mjs'

const HERE = dirname(fileURLToPath(import.meta.url))
const ROOT = join(HERE, '..', '..')
const PYTHON = join(ROOT, '.venv', 'bin', 'python')
const DOCUMENTS = 80 // more than there are checks that open one
const PLENTY = ['--writes-per-minute', '1000000', '--chars-per-hour', '1000000000', '--reads-per-minute', '1000000']
const TRIES = 3

const packageOf = (folder, name) => JSON.parse(readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8'))
const random = () => `conformance-${Math.random().toString(36).slice(2)}`
const folder = () => mkdtempSync(join(process.env.CONFORMANCE_DATA ?? '/tmp', 'conformance-'))

async function started (server) {
  for (let tries = 1; ; tries++) {
    try {
      return await server.start()
    } catch (error) {
      if (tries === TRIES) throw error
    }
  }
}

async function docactor (wire) {
  const port = await freePort()
  const command = [PYTHON, '-m', 'gateway.cli', 'serve', '--port', `${port}`, '--data', join(folder(), 'data'), ...PLENTY]
  const server = await started(new ServerProcess(command, port, { cwd: ROOT, ready: (output) => /^Ready after/m.test(output) }))
  const owner = /^Ready after.*#(\S+)$/m.exec(server.output)[1]
  const base = `http://127.0.0.1:${port}`
  const post = async (path, body) => {
    const headers = { authorization: `Bearer ${owner}`, 'content-type': 'application/json' }
    const answer = await fetch(base + path, { method: 'POST', headers, body: JSON.stringify(body) })
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    return answer.json()
  }
  const names = []
  for (let n = 0; n < DOCUMENTS; n++) names.push((await post('/api/documents', { title: `Conformance ${n}`, markdown: '' })).doc_id)
  const reader = await post('/api/tokens', { name: 'Reader', scope: 'read', agent: false })
  return {
    url: base.replace('http', 'ws') + (wire === 'y' ? '/collab' : '/hocuspocus'),
    auth: 'subprotocol:docactor.{token}',
    token: owner,
    readToken: reader.token,
    badToken: 'wrong',
    name: () => names.pop(),
    process: server
  }
}

async function hocuspocus () {
  const port = await freePort()
  const command = ['node', join(HERE, 'peers', 'hocuspocus.mjs'), `${port}`, join(folder(), 'documents.sqlite3')]
  const server = await started(new ServerProcess(command, port))
  return { url: `ws://127.0.0.1:${port}`, token: 'write', readToken: 'read', badToken: 'bad', name: random, process: server }
}

async function yWebsocket () {
  const port = await freePort()
  const program = join(HERE, 'peers', 'node_modules', 'y-websocket', 'bin', 'server.cjs')
  const env = { HOST: '127.0.0.1', PORT: `${port}`, YPERSISTENCE: folder() }
  const server = await started(new ServerProcess(['node', program], port, { env }))
  return { url: `ws://127.0.0.1:${port}`, name: random, process: server }
}

async function pycrdtWebsocket () {
  const port = await freePort()
  const command = [PYTHON, join(HERE, 'peers', 'pycrdt_server.py'), `${port}`, join(folder(), 'documents.sqlite3')]
  const server = await started(new ServerProcess(command, port, { cwd: ROOT }))
  return { url: `ws://127.0.0.1:${port}`, name: random, process: server }
}

// Nothing in their documentation says that they do; what they were not made for is no fault of theirs.
const TRUSTING = { 'no-impersonation': 'every client is trusted with the awareness of all' }
const ONE_A_FRAME = { 'several-messages-a-frame': 'its own clients send one message a frame' }
const NO_QUERY = { 'query-awareness': 'its own clients do not ask a server' }

const ours = () => /^version = "(.*)"/m.exec(readFileSync(join(ROOT, 'pyproject.toml'), 'utf8'))[1]

export const SERVERS = [
  {
    column: 'docactor, y-websocket', wire: 'y', start: () => docactor('y'), notPromised: {}, version: ours
  },
  { column: 'docactor, Hocuspocus', wire: 'hocuspocus', start: () => docactor('hocuspocus'), notPromised: {}, version: ours },
  {
    column: 'Hocuspocus + SQLite', wire: 'hocuspocus', start: hocuspocus,
    version: () => packageOf(join(ROOT, 'bench', 'npm'), '@hocuspocus/server').version,
    notPromised: {
      ...TRUSTING, ...NO_QUERY,
      ping: 'its own provider sends none',
      'saved-is-on-disk': 'it says "saved" when an update is applied, and stores 2 to 10 s later',
      'told-is-on-disk': 'it stores 2 to 10 s after an edit'
    }
  },
  {
    column: 'y-websocket + LevelDB', wire: 'y', start: yWebsocket,
    version: () => packageOf(join(HERE, 'peers'), 'y-websocket').version,
    notPromised: {
      ...TRUSTING, ...ONE_A_FRAME, ...NO_QUERY,
      'stop-keeps-the-last-edit': 'it stores while it tells, and ends without waiting',
      'told-is-on-disk': 'it stores while it tells'
    }
  },
  {
    column: 'pycrdt-websocket + SQLite', wire: 'y', start: pycrdtWebsocket,
    version: () => /^pycrdt-websocket==(\S+)/m.exec(readFileSync(join(ROOT, 'requirements.lock'), 'utf8'))[1],
    notPromised: {
      ...TRUSTING, ...ONE_A_FRAME, ...NO_QUERY,
      'stop-keeps-the-last-edit': 'it stores while it tells, and ends without waiting',
      'told-is-on-disk': 'it stores while it tells'
    }
  }
]
