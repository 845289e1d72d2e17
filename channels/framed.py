"""What the channels of our own pages share: replies and drafts as frames for their sockets."""

from abc import ABC, abstractmethod

from channels.plain import PlainChannel
from channels.sockets import Frame, Hub
from gateway.core.messages import (
    Delivered,
    InboundMessage,
    OutboundCall,
    Refused,
    SendMethod,
    SendOutcome,
)


class FramedChannel(PlainChannel, ABC):
    """A channel without a platform; which fields its frames have is said by each."""

    def __init__(self) -> None:
        self.hub = Hub()

    @abstractmethod
    def final_frame(self, call: OutboundCall) -> str:
        """The finished answer; ValueError where it cannot be carried."""

    @abstractmethod
    def delta_frame(self, turn_id: str, text: str) -> str:
        """A piece of a draft."""

    def method(self, _call: OutboundCall, _now: object) -> SendMethod:
        """A frame, which may be repeated: it carries the turn's id."""
        return SendMethod.FRAME

    async def send(self, call: OutboundCall, _method: SendMethod) -> SendOutcome:
        """Delivered also where nobody is connected: the turn is kept and read at the next time."""
        try:
            frame = Frame(self.final_frame(call), turn_id=call.turn_id)
        except ValueError as error:
            return Refused(f"cannot be carried: {error}")
        self.hub.publish(call.conversation.id, frame)
        return Delivered()

    async def show_delta(self, message: InboundMessage, turn_id: str, text: str) -> None:
        """A piece of the draft to whoever is connected."""
        frame = Frame(self.delta_frame(turn_id, text), is_final=False)
        self.hub.publish(message.conversation.id, frame)

    async def close(self) -> None:
        """End every socket."""
        self.hub.close()
