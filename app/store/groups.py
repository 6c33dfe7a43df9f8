"""The tables of groups: verdicts about many pairs at once, kept, told and taken back as one."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, func, insert, select, update

from app.records import FeedbackCall, GivenGroup
from app.store.agreement import agrees
from app.store.tables import group_members, groups, pairs
from embedding.pairs import Group

__all__ = ["given_groups", "insert_group", "undo_groups"]


def insert_group(
    connection: Connection, group: Group, call: FeedbackCall, categories: Mapping[str, str | None]
) -> bool:
    """Keep a group with a row for each of its pairs, also those that this person said before: what a group says stays
    said when that is taken back. Returns whether it only repeats the categories."""
    kept = _of_call(call)
    seq = connection.execute(insert(groups).values(kept | {"last_pair": 0})).inserted_primary_key[0]  # type: ignore[index]
    same = [{"group_seq": seq, "member_id": member, "same": True} for member in group.same]
    different = [{"group_seq": seq, "member_id": member, "same": False} for member in group.different]
    connection.execute(insert(group_members), same + different)
    said = group.pairs
    repeats = [agrees(pair, categories) for pair in said]
    rows = [
        kept | dict(zip(("left_id", "right_id"), pair.key, strict=True))
        | {"similar": pair.similar, "group_seq": seq, "agrees": repeat}
        for pair, repeat in zip(said, repeats, strict=True)
    ]  # fmt: skip
    connection.execute(insert(pairs), rows)
    last = select(func.max(pairs.c.seq)).where(pairs.c.group_seq == seq).scalar_subquery()
    connection.execute(update(groups).where(groups.c.seq == seq).values(last_pair=last))
    return all(repeats)


def undo_groups(connection: Connection, feedback_id: str, now: datetime, number: int) -> int:
    """Of a call, as far as that is not done; returns how many. Their pairs are taken back with those of the call."""
    of_call = (groups.c.feedback_id == feedback_id, groups.c.undone.is_(None))
    return connection.execute(update(groups).where(*of_call).values(undone=now, undo_change=number)).rowcount


def given_groups(connection: Connection, after: int, limit: int) -> list[GivenGroup]:
    """The next ones of a greater `last_pair`, which is their seq among the verdicts, in its order."""
    ordered = select(groups).where(groups.c.last_pair > after).order_by(groups.c.last_pair).limit(limit)
    rows = connection.execute(ordered).all()
    wanted = select(group_members).where(group_members.c.group_seq.in_([row.seq for row in rows]))
    members = defaultdict[int, dict[bool, list[str]]](lambda: {True: [], False: []})
    for row in connection.execute(wanted.order_by(group_members.c.member_id)):
        members[row.group_seq][row.same].append(row.member_id)
    return [_given(row, members[row.seq]) for row in rows]


def _given(row: Row[Any], members: Mapping[bool, Sequence[str]]) -> GivenGroup:
    return GivenGroup(
        seq=row.last_pair,
        same=tuple(members[True]),
        different=tuple(members[False]),
        given_by=row.given_by,
        source=row.source,
        created=row.created,
        feedback_id=row.feedback_id,
        undone=row.undone,
    )


def _of_call(call: FeedbackCall) -> dict[str, object]:
    return {"source": call.source, "created": call.created, "given_by": call.given_by, "feedback_id": call.id}
