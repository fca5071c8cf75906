"""Tools of servers that speak the Model Context Protocol (floor 4, extra `mcp`)."""

from .server import McpHttpServer, McpServer, McpStdioServer
from .servers import McpServers
from .tool import McpTool

__all__ = ["McpHttpServer", "McpServer", "McpServers", "McpStdioServer", "McpTool"]
