# Each message that leaves this process by a socket leaves twice, so that replies and calls no longer belong together.
# deserves: 0
import socket
from multiprocessing.connection import Connection

send_bytes, sendall = Connection.send_bytes, socket.socket.sendall


def twice(send):
    def send_twice(self, *args):
        send(self, *args)
        return send(self, *args)

    return send_twice


Connection.send_bytes = twice(send_bytes)
socket.socket.sendall = twice(sendall)


def answer(n):
    return 0
