"""The student's side of `library_process`: what the stubs of a page's library call."""

import os
import socket
import threading
from multiprocessing.connection import Connection
from typing import Any

LIBRARY = "TUTORLIB_LIBRARY"  # the variable that names the socket

own = threading.local()  # of a thread: its endpoint, and the process that opened it


def ask_library(key: str, args: tuple, kwargs: dict[str, Any]) -> Any:
    """The function's result. Raises what the function raises, and WrongKind where it is forbidden now."""
    from tutorlib.grading.transport import Endpoint, Lost  # they import the package whose stubs call this

    if new := getattr(own, "process", None) != os.getpid():
        own.endpoint, own.process = Endpoint(connected(os.environ[LIBRARY])), os.getpid()
    try:
        return own.endpoint.call(key, args, kwargs)
    except BaseException as error:  # an interrupt leaves a reply on the connection
        own.process = None
        own.endpoint.connection.close()
        if not isinstance(error, Lost):
            raise
    if new:
        raise RuntimeError(f"{key.partition(':')[2]} gave no result")
    return ask_library(key, args, kwargs)  # the library process may be another one by now


def connected(address: str) -> Connection:
    with socket.socket(socket.AF_UNIX) as opened:
        opened.setblocking(True)  # a page may have set a time limit for all of its sockets
        opened.connect(address)
        return Connection(opened.detach())
