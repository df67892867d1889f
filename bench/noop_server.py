"""What MCP itself costs: one tool that does nothing, served as our gateway serves its own.

python -m bench.noop_server PORT
"""

from __future__ import annotations

import sys

import uvicorn
from fastmcp import FastMCP
from fastmcp.tools import ToolResult

mcp: FastMCP[None] = FastMCP("noop")


@mcp.tool
def noop(doc_id: str, cursor: int) -> ToolResult:
    """The arguments of `read_changes` and an empty answer."""
    return ToolResult(content=doc_id, structured_content={"cursor": cursor})


if __name__ == "__main__":
    app = mcp.http_app(path="/mcp", stateless_http=True, json_response=True)
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=int(sys.argv[1]),
        loop="uvloop",
        http="httptools",
        access_log=False,
        log_level="warning",
    )
