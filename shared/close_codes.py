"""Why a websocket of an editor is closed.

y-websocket 3.1 takes 4400 to 4499 as final and reconnects on everything else; older versions
reconnect always. So what a retry can mend lies outside of that range.
"""

from typing import Final

NOT_ACCEPTABLE: Final = 1003  # a text frame
MALFORMED: Final = 1007  # bytes that no correct client sends
TOO_BIG: Final = 1009
GOING_AWAY: Final = 1012  # the server restarts
UNAUTHENTICATED: Final = 4401
FORBIDDEN: Final = 4403
NOT_FOUND: Final = 4404
FAILED: Final = 4500  # a fault of ours
TRY_AGAIN: Final = 4503  # slow reader, out of step, overloaded
