"""The machine's rules about feedback: given, changed, taken back, and what counts after each step."""

import json
from collections.abc import Sequence
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from starlette.testclient import TestClient

from tests.stateful.expected import Expected, Group, Verdict
from tests.stateful.parts import Parts
from tests.stateful.requests import WHICH

__all__ = ["FeedbackRules"]


class FeedbackRules(RuleBasedStateMachine):
    parts: ClassVar[Parts]
    expected: Expected
    client: TestClient

    @precondition(lambda self: len(self.expected.references) > 1)
    @rule(given=st.lists(st.tuples(WHICH, WHICH, st.booleans()), min_size=1, max_size=3))
    def give_feedback(self, given: list[tuple[int, int, bool]]) -> None:
        """The second number says how much further the other picture of the pair stands."""
        references = self.expected.references
        verdicts = []
        for which, further, similar in given:
            left = which % len(references)
            right = (left + 1 + further % (len(references) - 1)) % len(references)
            verdicts.append(Verdict(references[left], references[right], similar))
        self._give(verdicts)

    @precondition(lambda self: len(self.expected.references) > 1)
    @rule(whiches=st.lists(WHICH, min_size=2, max_size=5), same=st.integers(1, 5))
    def give_a_group(self, whiches: list[int], same: int) -> None:
        """The first ones are the same."""
        references = self.expected.references
        names = list(dict.fromkeys(references[which % len(references)] for which in whiches))
        group = Group(tuple(names[:same]), tuple(names[same:]))
        answer = self.client.post("/v1/feedback", json={"groups": [vars(group)]})
        if not group.verdicts:
            assert (answer.status_code, answer.json()["code"]) == (422, "bad_pairs")
            return
        recorded = self.expected.record_group(group)
        assert (answer.json()["groups"], answer.json()["groups_unchanged"]) == (recorded, not recorded)
        if recorded:
            self.expected.calls.append(answer.json()["feedback_id"])
        self.parts.happened["group recorded"] += recorded

    @precondition(lambda self: self.expected.verdicts)
    @rule(which=WHICH, at_once=st.booleans())
    def change_a_verdict(self, which: int, at_once: bool) -> None:
        """Or say both in one call, which is refused."""
        key, similar = list(self.expected.verdicts.items())[which % len(self.expected.verdicts)]
        right, left = key
        self._give([Verdict(left, right, not similar)] + [Verdict(right, left, similar)] * at_once)
        self.parts.happened["verdict changed"] += not at_once

    @precondition(lambda self: self.expected.calls)
    @rule(which=WHICH)
    def take_feedback_back(self, which: int) -> None:
        call = which % len(self.expected.calls)
        answer = self.client.delete(f"/v1/feedback/{self.expected.calls[call]}")
        undone = self.expected.take_back(call)
        if undone is None:
            assert (answer.status_code, answer.json()["code"]) == (404, "unknown_feedback")
        else:
            assert answer.json() == {"undone": undone}
        self.parts.happened["taken back"] += bool(undone)

    @invariant()
    def feedback_is_right(self) -> None:
        lines = map(json.loads, self.client.get("/v1/feedback").text.splitlines())
        verdicts = [(frozenset((line["left"], line["right"])), line["similar"]) for line in lines]
        assert verdicts == list(self.expected.verdicts.items())

    def _give(self, verdicts: Sequence[Verdict]) -> None:
        answer = self.client.post("/v1/feedback", json={"pairs": [vars(verdict) for verdict in verdicts]})
        if len({verdict.key for verdict in verdicts}) < len({(verdict.key, verdict.similar) for verdict in verdicts}):
            assert (answer.status_code, answer.json()["code"]) == (422, "bad_pairs")
            return
        recorded = self.expected.record(verdicts)
        feedback_id = answer.json()["feedback_id"]
        unchanged = len(verdicts) - recorded
        said = {name: answer.json()[name] for name in ("recorded", "unchanged", "groups", "groups_unchanged")}
        assert said == {"recorded": recorded, "unchanged": unchanged, "groups": 0, "groups_unchanged": 0}
        assert (feedback_id is None) == (recorded == 0)
        if recorded:
            self.expected.calls.append(feedback_id)
        self.parts.happened["recorded"] += recorded
        self.parts.happened["query named"] += any(verdict.key & set(self.expected.queries) for verdict in verdicts)
