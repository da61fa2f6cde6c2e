# An endless loop that no interrupt and no polite signal ends.
# deserves: 0
import signal

for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)


def answer(n):
    while True:
        try:
            while True:
                pass
        except BaseException:
            continue
