// A server as a process of ours, so that it can be stopped, killed and started again.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { Failed, sleep } from './wait.mjs'

const START_MS = 120_000
const STOP_MS = 60_000

/** A port nobody listens on now. */
export async function freePort () {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  return port
}

const listens = (port) => new Promise((resolve) => {
  const socket = connect(port, '127.0.0.1', () => { socket.destroy(), resolve(true) })
  socket.on('error', () => resolve(false))
})

export class ServerProcess {
  /** `ready(output)` says whether it serves; by default that it listens. */
  constructor (command, port, { cwd, env = {}, ready = null } = {}) {
    Object.assign(this, { command, port, cwd, env, ready, output: '', process: null })
  }

  async start () {
    this.output = ''
    const [program, ...rest] = this.command
    this.process = spawn(program, rest, { cwd: this.cwd, env: { ...process.env, ...this.env }, detached: true })
    this.ended = once(this.process, 'exit')
    for (const stream of [this.process.stdout, this.process.stderr]) stream.on('data', (data) => { this.output += data })
    const end = performance.now() + START_MS
    while (!(this.ready ? this.ready(this.output) : await listens(this.port))) {
      if (this.dead || performance.now() > end) throw new Failed(`no server: ${this.output.slice(-500)}`)
      await sleep(50)
    }
    return this
  }

  /** Signals all of its process group, waits for its end. */
  async stop (signal = 'SIGTERM') {
    if (this.process === null || this.dead) return
    if (signal === 'SIGKILL') process.kill(-this.process.pid, signal)
    else this.process.kill(signal)
    const late = setTimeout(() => process.kill(-this.process.pid, 'SIGKILL'), STOP_MS)
    await this.ended
    clearTimeout(late)
    while (await listens(this.port)) await sleep(50)
  }

  get dead () { return this.process.exitCode !== null || this.process.signalCode !== null }

  /** Starts it again if a check has ended it: the next one is about something else. */
  async revive () { if (this.dead) await this.start() }

  async restart (signal, stopped) {
    await this.stop(signal)
    await stopped()
    await this.start()
  }
}
