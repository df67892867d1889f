"""Every limit, with its unit and its reason. Settings may override those that say so."""

from typing import Final

# --- documents ---------------------------------------------------------------------------------
MAX_MARKDOWN_CHARS: Final = 1_000_000  # characters per write: about 5,000 blocks, a long book
MAX_DOCUMENT_BYTES: Final = 32 * 2**20  # encoded Yjs state; what an actor and a step 2 can carry
MAX_BLOCKS: Final = 20_000  # top-level blocks; keeps index, outline and patch within memory
MAX_DEPTH: Final = 100  # nesting of elements; beyond it recursion and editors break
MAX_COLSPAN: Final = 1_000  # columns of one cell; as HTML has it
MAX_ROWSPAN: Final = 65_534  # rows of one cell; as HTML has it
MAX_TABLE_PLACES: Final = 100_000  # rows x columns of a table with spans or holes
MAX_TABLE_FILLING: Final = 4  # cells added to a table with holes, for each it has
MAX_SOURCE_FILLING: Final = 64  # cells added to the smallest table of a text: it may hold thousands
MAX_BLOCK_FILLING: Final = 512  # cells added to a block: a table of 10 x 10, merged by two at once
MAX_TITLE_CHARS: Final = 200
MAX_SLUG_CHARS: Final = 64
MAX_NAME_CHARS: Final = 64  # principals and agents; shown in `by`, single-lined
MAX_OPAQUE_DEPTH: Final = MAX_DEPTH

# --- reading -----------------------------------------------------------------------------------
DEFAULT_READ_CHARS: Final = 40_000  # characters; below the result cap of common MCP clients
MAX_READ_CHARS: Final = 1_000_000
MAX_FIND_HITS: Final = 20
MAX_WAIT_S: Final = 50  # seconds; TypeScript MCP clients give up at 60
DEFAULT_SETTLE_S: Final = 3.0  # seconds without further change before a long poll answers
MAX_SETTLE_S: Final = 30.0
MAX_LIST: Final = 200  # documents per list_documents page
DEFAULT_LIST: Final = 50

# --- change feed -------------------------------------------------------------------------------
MIN_CHANGE_ROWS: Final = 5_000  # rows kept before the floor rises: max(this, 3 x blocks)
CHANGE_ROWS_PER_BLOCK: Final = 3
REMEMBER_REMOVED_MS: Final = 10 * 60 * 1000  # how long a removed block's id waits for its words
MAX_ID_ATTRIBUTE_CHARS: Final = 64  # of an editor's own ids; a UUID has 36
MAX_REMEMBERED: Final = 20_000  # removed blocks kept in mind; a whole document cut and put back
MAX_WORDS_CHARS: Final = 2_000  # characters of a block's words kept for likeness

# --- what changed --------------------------------------------------------------------------------
MAX_CHANGED_SECTIONS: Final = 50  # told of by get_changes; the counts know them all
MAX_CHANGED_BLOCKS: Final = 200  # the same by block; their texts share DEFAULT_READ_CHARS
MAX_EXCERPT_CHARS: Final = 140  # of a passage that came or went: a sentence
MAX_WORD_CELLS: Final = 2**27  # words x words compared at once: some 30 ms; more counts as replaced
MAX_DIGEST: Final = 100  # documents that list_changes looks at, last changed first
DIGEST_AT_ONCE: Final = 4  # of these opened and asked at a time: actors are for who works in them
READING_MS: Final = 10_000  # an open and visible editor counts as being read after so long

# --- patch -------------------------------------------------------------------------------------
MAX_VIEWS: Final = 8  # per principal and document
VIEW_TTL_MS: Final = 24 * 3600 * 1000
MAX_TOLD_BYTES: Final = 4 * 2**20  # texts remembered for three-way merges, per document
LARGE_DELETE_BLOCKS: Final = 5  # more than this many and more than a fifth of the scope
LARGE_DELETE_SHARE: Final = 0.2
MAX_UNSURE: Final = 256  # cursors remembered as held by a conversation unknown, per principal
MAX_VIEW_ENTRIES: Final = 200_000  # blocks in all views of a document: about 4 MB in its file
MAX_OLDER_TEXTS: Final = 32  # earlier texts of one block remembered as hashes, per principal
MAX_OLDER_BLOCKS: Final = 20_000  # blocks with such texts, per principal: MAX_BLOCKS once over
MAX_PAIRINGS: Final = 4_096  # likeness comparisons for one run of rewritten blocks
MAX_MERGE_WORDS: Final = 20_000  # words and signs of a text merged word by word: 100,000 characters
MAX_DIFF_INLINE: Final = 4_000  # unequal blocks diffed on the loop; more go to a thread
MAX_PLANS: Final = 3  # times a large patch is planned in a thread before it is planned on the loop
RENDER_INLINE_CHARS: Final = 20_000  # sent Markdown made canonical on the loop; more in a thread
QUOTE_INLINE_CHARS: Final = 200_000  # searched for quotes on the loop (5 ms); more in a thread
BLOCK_SEARCH_CHARS: Final = 50  # a block takes as long to search as so many characters of it
MAX_TEXT_EDITS: Final = 100  # edits of one replace_text: each looks through the whole document
MAX_MATCHES_TOLD: Final = 20  # places named of a text that is not unique
MAX_NEAREST_TOLD: Final = 3  # blocks named that are like a text that was not found
MIN_LIKENESS: Final = 60  # percent of likeness below which a block is not named as such
MAX_CARETS: Final = 1_000  # of one document looked at before blocks are moved
PIN_MS: Final = 10_000  # a block touched by others so lately is not moved: keystrokes are under way
VIEWS_STORE_MS: Final = 5_000  # views go to disk with a batch at most this often; they may be large
IDEMPOTENCY_TTL_MS: Final = 24 * 3600 * 1000
MAX_IDEMPOTENT_ANSWER: Final = 64 * 2**10  # bytes; larger answers are stored as counts and cursor
MAX_IDEMPOTENCY_KEY: Final = 128  # characters

# --- chats and comments ----------------------------------------------------------------------
MAX_MESSAGE_CHARS: Final = 2_000  # a message is no document
MAX_QUOTE_CHARS: Final = 500  # code points; a long sentence
MAX_THREADS: Final = 1_000  # of one document; a commit may have to look for all their quotes
MAX_MESSAGES: Final = 10_000  # of one document; an actor has them all in memory, 20 MB at most
DEFAULT_MESSAGES: Final = 30  # of one answer
MAX_SHOWN_MESSAGES: Final = 50
MAX_LISTED_CHATS: Final = 200  # of one answer, those with the newest messages
MAX_THREAD_CHARS: Final = 10_000  # of the messages that come with a document that is read

# --- suggestions -------------------------------------------------------------------------------
MAX_OPEN_SUGGESTIONS: Final = 500  # of one document; who decides reads them one by one
MAX_OPEN_SUGGESTION_CHARS: Final = 4_000_000  # they hold, all together: a long book four times
MAX_DECIDED_TEXTS: Final = (
    500  # decided suggestions that keep their texts; of older ones the fact stays
)
MAX_SUGGESTION_SHOWN: Final = 4_000  # characters of each text of one that an answer shows
MAX_SUGGESTION_NOTE: Final = 2_000  # characters; as a message
DEFAULT_SUGGESTIONS: Final = 50  # of one answer
MAX_SUGGESTIONS: Final = 200

# --- commits -----------------------------------------------------------------------------------
MAX_BATCH_BYTES: Final = 4 * 2**20
MAX_BATCH_UPDATES: Final = 1_000
MAX_BATCHES_WAITING: Final = 2  # while so many wait, links stop reading
COMMIT_EVERY_S: Final = 0.005  # between the beginnings of two; less than a screen's frame
CHECKPOINT_MIN_BYTES: Final = 256 * 2**10  # of log since the last one; or 1/4 of it if more
CHECKPOINT_MAX_UPDATES: Final = 2_000

WARM_AFTER_S: Final = 0.2  # from a load to the first of them: the first answers come before
RENDER_BLOCKS: Final = 25  # blocks rendered in one go before a first read of all: a few ms at most
KEPT_BLOCKS: Final = 1_000  # from so many on the garbage collector looks past a document
WARM_BLOCKS: Final = 200  # blocks whose words are read in one go after a load: about 1 ms
CHECKPOINT_VERIFY_EVERY: Final = 20  # of so many checkpoints one is read back and compared
PROBE_S: Final = 2.0  # between two attempts to write, after storage refused
DAY_MS: Final = 24 * 3600 * 1000
RETENTION_DAYS: Final = 30  # how far back states are kept
VERSION_QUIET_MS: Final = 60_000  # without an edit: what was changed before becomes a version
VERSION_ACTIVITY_MS: Final = 10 * 60_000  # of editing without such a pause
VERSION_SHARE: Final = 0.2  # of the blocks; an agent's write to more gets a version before it
MAX_VERSION_NAME: Final = 100  # characters of a version's name; single-lined
DEFAULT_VERSIONS: Final = 30  # versions of one answer
MAX_VERSIONS: Final = 200
FULL_HISTORY_MS: Final = DAY_MS  # how far back every single update is kept; older ones are merged
SPAN_MS: Final = 10 * 60_000  # what one merged update covers at most
SPAN_BYTES: Final = 256 * 2**10
MERGE_STEP: Final = 500  # updates looked at in one step of merging: some milliseconds of reading
TRIM_CHECKPOINTS: Final = 4  # dropped in one step: each may be as large as its document
MERGE_PAUSE_S: Final = 0.05  # between two steps: what a document has to do comes first
RETAIN_AFTER_S: Final = 5.0  # from opening a document to the first step
RETAIN_EVERY_S: Final = 3600.0
PAST_STATES_AT_ONCE: Final = 2  # of one document rebuilt at a time: each is one more in memory
SCRATCH_BYTES: Final = 64  # of an update; below it no limit can be reached that was not before

MAX_PROBLEMS: Final = 50  # problems told of one document; what is broken often breaks much else

# --- wires -------------------------------------------------------------------------------------
MAX_FRAME_BYTES: Final = 8 * 2**20  # one websocket message of an editor
MAX_STEP2_BYTES: Final = 33 * 2**20  # a client back from a long time offline; one at a time
MAX_AWARENESS_BYTES: Final = 64 * 2**10  # states of one session
MAX_AWARENESS_CLIENTS: Final = 8  # client ids one session may own; editors have one
MAX_AWARENESS_CLOCK: Final = 2**32 - 1  # yrs keeps clocks in 32 bits; past it nobody could answer
MAX_CLIENT_ID: Final = 2**53 - 1  # JavaScript's largest exact integer
MAX_AWARENESS_ROOM_BYTES: Final = 4 * 2**20  # states of one document together
# Clients send back all states they are sent, so a frame may hold what the whole room may.
MAX_AWARENESS_FRAME_BYTES: Final = 5 * 2**20
AWARENESS_TOMBSTONES: Final = 1_000  # clocks of clients that left, kept against stale packets
OUTBOX_BYTES: Final = 16 * 2**20  # a slow reader is closed past this and resyncs
OUTBOX_FRAMES: Final = 10_000
LINK_FRAME_BYTES: Final = MAX_STEP2_BYTES + 2**20
LINK_CALL_BYTES: Final = 4 * 2**20  # a longer call goes by Ray, past everybody's keystrokes
LINK_ANSWER_BYTES: Final = LINK_FRAME_BYTES - 64  # what has room in a frame beside its head
KEPT_BYTES: Final = MAX_FRAME_BYTES  # a gateway keeps of a document while that has no actor
KEPT_SENT: Final = 64  # updates lately sent that it keeps, lest their actor died over them
KEPT_SENT_BYTES: Final = 64 * 2**10  # of one such; more is no keystroke
LINK_OUTBOX_BYTES: Final = 4 * LINK_FRAME_BYTES  # a gateway that reads no more is cut off
LINK_PAUSE_BYTES: Final = 2**20  # unsent bytes past which a peer's next frame waits
LINK_TURN_FRAMES: Final = 64  # frames handled per turn of the loop, so that calls are not starved
LINK_HELLO_BYTES: Final = 4096  # first frame of a link, from somebody not known yet
LINK_HELLO_S: Final = 5.0  # seconds for it to come
LINK_CONNECT_S: Final = 5.0
LINK_CLOSE_S: Final = 1.0  # seconds a link gets to take what it was already sent
LINK_RETRY_S: Final = 0.002  # seconds until a held link looks again
LINK_PING_S: Final = 2.0
LINK_DEAD_S: Final = 6.0  # a dead machine sends no end of file
SOCKET_MESSAGE_BYTES: Final = MAX_STEP2_BYTES + 64  # largest websocket message, with its header
SOCKET_OPEN_S: Final = 30.0  # seconds to authenticate and find the document
SOCKET_CLOSE_S: Final = 5.0  # seconds a socket gets to take its close frame
SOCKET_QUIET_S: Final = 10.0  # twice this without a frame and something is sent: clients allow 30
SOCKET_PING_S: Final = 20.0
RENEWAL_S: Final = 5.0  # those still present are told of together: clients renew each 15, allow 30
SOCKET_GRACE_S: Final = 20.0
MAX_STEP2_REQUESTS: Final = 3  # times a session is asked for what is missing, then closed
MAX_SESSIONS_PER_DOCUMENT: Final = 500
MAX_AWARENESS_ENTRIES: Final = MAX_SESSIONS_PER_DOCUMENT * MAX_AWARENESS_CLIENTS  # in one frame
MAX_SESSIONS_PER_GATEWAY: Final = 5_000
SESSIONS_OF_ONE: Final = 1_000  # of one principal at a gateway; all who come by a link are one
SOCKET_FRAMES_PER_S: Final = 2_000  # a person types 15; awareness of a full room comes on top
BURST_FRAMES: Final = 20_000  # at once, after a pause: a script that replays a long history
SOCKET_BYTES_PER_S: Final = 8 * 2**20
BURST_BYTES: Final = 2 * MAX_STEP2_BYTES  # a step 2 of the largest size never waits
ECHO_SHARE: Final = 8  # echoes of others' presence that count as one frame: they go no further
MAX_SOCKET_DOCUMENTS: Final = 100  # documents on one Hocuspocus socket
MAX_REFUSALS: Final = 2 * MAX_SOCKET_DOCUMENTS  # in a row on one socket: no place to guess tokens
MAX_ADDRESS_BYTES: Final = 1_024  # of a document's name there, with what a provider adds to it
MAX_WAITING_BYTES: Final = 5 * 2**20  # frames of one socket that wait until documents are open
MAX_WAITING_FRAMES: Final = 1_000
AUTH_S: Final = 10.0  # seconds to look up one token
BARE_SOCKET_S: Final = 60.0  # a socket on which no document is open is closed after so long
REOPEN_S: Final = 1.0  # between attempts to open a document that cannot be opened just now
MAX_BODY_BYTES: Final = 12 * 2**20  # MCP and REST request body: 1,000,000 characters escaped

# --- life --------------------------------------------------------------------------------------
IDLE_S: Final = 60.0  # no session, call or waiter for so long: the document is passivated
HIBERNATE_S: Final = 120.0  # no edit and no newcomer for so long: open tabs keep no actor awake
HIBERNATE_EARLY_S: Final = 5.0  # the same where somebody else waits for room
WAKE_S: Final = 1.0  # a gateway that does not re-attach within this is not waited for
GATEWAY_BACK_S: Final = 3.0  # after a Directory's start gateways have called by then, or are gone
DRAIN_S: Final = 20.0
TAKEOVER_S: Final = 10.0  # how long a new actor waits for a locked file
ACTIVATE_DEADLINE_S: Final = 20.0  # a call waiting for a slot answers `overloaded` after this
WARM_SLOTS: Final = 4  # blank actors kept started per node
GATEWAY_GONE_S: Final = 30.0  # a gateway not heard of for so long is not in the metrics any more
DRAIN_ANSWER_S: Final = 50.0  # draining a node answers after this, below a call's deadline
CLOSINGS_AT_ONCE: Final = 16  # documents of a drained node closed at a time; each writes a file
ROOM_QUESTIONS: Final = 32  # documents seen busy that are asked again when a node is full
REFILL_PAUSE_S: Final = 0.15  # from taking a slot to starting another: opening takes 40 ms
SURPLUS_SHARE: Final = 4  # of the blanks beyond WARM_SLOTS one in so many ends per REPORT_S
SURPLUS_BEATS: Final = 3  # ... when nobody needed them for so many times REPORT_S
SLOT_REUSES: Final = 40  # documents a slot holds in turn before it is recycled
ORPHAN_S: Final = 60.0  # a slot that has heard from no Directory drains and exits
HEARTBEATS_S: Final = (0.1, 20.0)  # least and most; without one for ORPHAN_S a slot leaves
REPORT_S: Final = 5.0  # title and last change reach the catalog at most this often
BEAT_PAUSE_S: Final = 0.02  # from one document's heartbeat to the next one's
WHOAMI_S: Final = 2.0  # a slot called broken answers within this, or is killed and replaced
SLOT_START_S: Final = 30.0  # a cold actor takes 0.5 s; on a machine that starts many, several
SLOT_MEMORY_BYTES: Final = 64 * 2**20  # what Ray counts per slot; measured: 52 to 54 MB private
SLOTS_PER_GIB: Final = 16  # active documents per node: min(this x GiB, SLOTS_PER_CORE x cores)
SLOTS_PER_CORE: Final = 50  # an idle actor costs 0.65 % of a core, so these take a third of it
READS_AT_ONCE: Final = 64  # calls running in one document; the rest waits its turn
WRITES_AT_ONCE: Final = 64
PLACES_OF_ONE: Final = READS_AT_ONCE // 2  # of these for one principal; its other calls wait
CALLS_OF_ONE: Final = 200  # of one principal in one document, running or waiting for their turn
WAITS_OF_ONE: Final = 200  # calls of one principal that wait for changes at a gateway
CALLS_WAITING: Final = 400  # of either kind, then `overloaded`; Ray runs 1,000 at once at most
CALL_DEADLINE_S: Final = 60.0  # a call without answer for so long counts as lost
CALL_SUSPECT_S: Final = 4.0  # a call without answer for so long: the Directory looks at its slot
LAST_WORD_S: Final = 0.5  # an answer under way when its actor's link broke may still arrive
REATTACH_S: Final = 60.0  # editors whose document cannot be opened for so long are closed
MAX_ROUTES: Final = 10_000  # documents whose place a gateway remembers
DIRECTORY_RETRY_S: Final = 10.0  # a killed Directory is back within 1.5 s; its catalog within 10
PARENT_WATCH_S: Final = 1.0  # how often a process looks whether its parent is still the same

# --- deleting ----------------------------------------------------------------------------------
DELETED_DAYS: Final = 30  # a deleted document can be had back for so long, then its file goes
RETENTION_STEP: Final = 20  # documents that expire, and files removed, per step of a few seconds

# --- budgets (settings; per principal and document) ----------------------------------------------
WRITES_PER_MINUTE: Final = 10
CHARS_PER_HOUR: Final = 20_000  # characters of Markdown added; about ten pages
READS_PER_MINUTE: Final = 60  # of each tool that reads; a dry run counts as one
NAMED_FACTOR: Final = 10  # named agents and people's tokens get this many times as much
CREATIONS_PER_HOUR: Final = 1_000  # documents one principal makes; each is a file for good
MAX_SPENDERS: Final = 10_000  # principals whose budgets one document has in mind
BUDGET_TTL_MS: Final = 61 * 60 * 1000  # the longest window, and the slot by which it may be late

# --- events and agents that have joined --------------------------------------------------------
DIGEST_MS: Final = 30_000  # between two document.changed of one principal
DIGEST_BLOCKS: Final = 50  # block ids one event names; the rest is counted
MAX_EVENTS: Final = 10_000  # kept of one document; about 1 MB
EVENTS_SLACK: Final = 100  # beyond MAX_EVENTS, so that not each new event drops an old one
EVENTS_TOLD: Final = 100  # in one answer
MAX_AGENTS: Final = 100  # that have joined one document
AGENT_TTL_MS: Final = 300_000  # an agent that joined and calls no more is gone after so long
AGENT_RENEW_S: Final = 12.0  # editors give a presence up after 30 s without a word of it
MAX_SEATS: Final = 1_000  # agents that a gateway takes off a roster when their token ends
MAX_STATUS_CHARS: Final = 100  # of what an agent says it is doing
EXPIRY_WARNING_MS: Final = 24 * 3600 * 1000  # document.expiring comes so long before
SLEPT_EVENTS_S: Final = 3600.0  # a sleeping document is asked so often: something may be due
STREAMS_OF_ONE: Final = 50  # event streams of one principal at a gateway
STREAM_ALIVE_S: Final = 15.0  # a comment on a silent event stream, so that proxies keep it

# --- gateway -----------------------------------------------------------------------------------
TOKEN_CACHE_S: Final = 10.0  # a gateway remembers a token while it hears of revoked ones; expiry
TOKEN_UNSURE_S: Final = 1.0  # the same while it hears nothing
NOTICE_WAIT_S: Final = 30.0  # one question for notices; below a call's deadline
NOTICE_RETRY_S: Final = 1.0
MAX_JWT_CHARS: Final = 8_192  # longer is no token of an issuer
ISSUER_S: Final = 5.0  # seconds an issuer has to describe itself
TICKET_S: Final = 12 * 3600.0  # how long a socket may come back with one; a working day
MAX_TICKET_CHARS: Final = 4_096  # longer is no ticket of ours: not looked into
NOTICES_KEPT: Final = 1_000  # a gateway that missed more of them looks at everything again
MAX_MEMBERS: Final = 1_000  # of one document
MAX_PRINCIPAL_CHARS: Final = 512  # an issuer's address and its name of somebody
DEFAULT_AUDIT: Final = 100  # lines of the audit log shown
MAX_AUDIT: Final = 10_000
REVOKED_TOLD_MS: Final = 10 * 60 * 1000  # no call that a token let in begins to wait later
EXPIRY_WATCH_S: Final = 1.0  # how often sockets and waits of tokens that expire are looked at
MAX_CACHED_TOKENS: Final = 10_000
MAX_CACHED_ROLES: Final = 10_000  # callers and documents whose roles a gateway remembers
READY_S: Final = 2.0  # seconds the Directory has to say that it is there
MAX_LISTED_ANCHORS: Final = 50  # anchors in the text of a tool result; all are in its data
PARSE_INLINE_CHARS: Final = (
    20_000  # Markdown parsed on the loop (about 20 ms); more goes to a thread
)
MIN_REMEMBERED_CHARS: Final = 4_000  # a shorter Markdown (about 2 ms) is just read anew
# Of Markdown read last, for texts sent again with few changes: characters, and 200 for each node.
# Twice that in bytes, and room for two of the largest documents.
MAX_REMEMBERED_CHARS: Final = 8_000_000
WOKEN_READS: Final = 16  # waiting calls of one document that read at once when it changes
MAX_SLEPT_ANSWERS: Final = 10_000  # of sleeping documents, that nothing has changed; one a caller
MAX_WAKES: Final = 20  # times a waiting read_changes reads before it answers with what it has
MAX_FIDELITY_NOTES: Final = 20  # of one block; clients make up names of attributes and marks
MAX_NOTED_CHARS: Final = 64  # of such a name in a note
MAX_FIND_CHARS: Final = 1_000  # of a search text: longer ones are the text itself
MAX_SAFE_INTEGER: Final = 2**53 - 1  # larger numbers change on their way through JavaScript
MAX_ARGUMENT_ITEMS: Final = MAX_BLOCKS  # items of one list argument
MAX_TOKEN_CHARS: Final = 256  # longer is no token of ours: not hashed, not asked for
