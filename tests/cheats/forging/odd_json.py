# Replies that are JSON to some: keys twice, numbers without end, and what comes behind the end.
# deserves: 0
from itertools import cycle

from tutorlib.grading.wire import HEAD, Writer

TEXTS = (
    '["raised","ValueError","","",""],["returned",{"tuple":[1,0]}]',
    '["returned",{"tuple":[0],"tuple":[1,{"mine":0}]}]',
    '["returned",[1e999,-1e999,-0.0,NaN]]',
    '["returned",{"int":"0x' + "f" * 100_000 + '"}]',
    '["returned",{"int":"_1_0"}]',
    '["returned",{"scalar":["<U999999",4]}]1234',
    '["returned",{"yours":0}]',
    '["returned",{"array":["<i8",[1,1,1,1],[8,8,8,8],-8,8]}]12345678',
)
texts = cycle(text.encode() for text in TEXTS)


def message(self, value):
    text = next(texts)
    return HEAD.pack(text.rindex(b"]") + 1) + text


Writer.message = message


def answer(n):
    return 0
