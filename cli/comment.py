"""`gpu-commons comment`: what a preview means for people, as one comment on a pull request."""

import datetime as dt
from collections.abc import Mapping
from typing import Any, BinaryIO

import click

from cli.clock import today
from cli.engine_events import COMMAND, Stream, StreamError, read_stream
from cli.review.costs import Price
from cli.review.document import Review, Sources, review_data, review_of, unreadable
from cli.terminal import json_text, print_error, width
from compat import Case


@click.command(
    epilog="Exit codes: 0 nothing is refused, and what a preview cannot decide is reported; 1 something is refused, or "
    "no policy pack ran; 2 usage, or events that cannot be read or end too early; the comment then says so."
)
@click.argument("events", type=click.File("rb"), metavar="EVENTS.jsonl|-")
@click.option(
    "--base", type=click.File("rb"), metavar="FILE", help="Events of the base branch: shows what is new and resolved."
)
@click.option(
    "--format", "form", type=click.Choice(["markdown", "text", "json"]), default="markdown", show_default=True,
    help="A comment, lines for a terminal, or the same as data.",
)  # fmt: skip
@click.option("--stack", default="", metavar="NAME", help="Stack that the events must be about.")
@click.option(
    "--date", "day", type=click.DateTime(["%Y-%m-%d"]), metavar="YYYY-MM-DD",
    help="Day for which courses and waivers are shown; today if not given.",
)  # fmt: skip
@click.pass_context
def comment(  # noqa: PLR0913, PLR0917 - what click hands over
    ctx: click.Context, events: BinaryIO, base: BinaryIO | None, form: str, stack: str, day: dt.datetime | None
) -> None:
    """What a preview changes, for whom, and whether the policies allow it: one comment.

    Reads the engine's events as a preview streams them, and ignores any text between them. The comment is shorter than
    65,536 characters, and masks whatever looks like a secret. A marker at its start lets the next comment replace it.

    \b
    Example:
      PULUMI_ENABLE_STREAMING_JSON_PREVIEW=true pulumi preview --json > events.jsonl
      gpu-commons comment events.jsonl > comment.md
    """
    shown_day = day.date() if day is not None else today()
    try:
        stream = _read(events, stack)
        review = review_of(stream, _base(base, stream), Sources(_spec_cases, _price, shown_day), stack)
        text = _text(review, form, shown_day)
        error = review.verdict.reasons[0] if review.verdict.outcome.exit_code == 2 else ""
    except (StreamError, RecursionError) as caught:
        error = (
            str(caught) if isinstance(caught, StreamError) else "a value of a resource is nested too deeply to be read"
        )
        review = unreadable(error, stack)
        text = _text(review, form, shown_day)
    if error:
        print_error(f"{_name(events)}: {error}")
    click.echo(text, nl=form != "markdown")
    ctx.exit(review.verdict.outcome.exit_code)


def _name(file: BinaryIO) -> str:
    return getattr(file, "name", "<stdin>")  # a replacement for stdin may have no name


def _read(events: BinaryIO, stack: str) -> Stream:
    stream = _of_preview(events)
    if stack and stream.stack and stream.stack != stack:
        raise StreamError(f"the events are about the stack {stream.stack}, and --stack says {stack}")
    return stream


def _of_preview(events: BinaryIO) -> Stream:
    stream = read_stream(events.read())
    if stream.is_update:
        raise StreamError(f"these are the events of an update that ran, not of a preview; write them with {COMMAND}")
    return stream


def _base(base: BinaryIO | None, stream: Stream) -> Stream | None:
    """Raises StreamError for a base of another stack: the comment has to say so."""
    if base is None:
        return None
    try:
        events = _of_preview(base)
    except StreamError as error:
        raise StreamError(f"--base {_name(base)}: {error}") from None
    if events.stack and stream.stack and events.stack != stream.stack:
        raise StreamError(
            f"--base {_name(base)}: the events are about the stack {events.stack}, the others {stream.stack}"
        )
    return events


def _text(review: Review, form: str, today: dt.date) -> str:
    if form == "json":
        return json_text(review_data(review))
    if form == "text":
        from cli.review.text import review_text  # noqa: PLC0415 - one of three is needed

        return review_text(review, today, width())
    from cli.review.markdown import review_markdown  # noqa: PLC0415 - one of three is needed

    return review_markdown(review, today)


def _spec_cases(name: str, facts: Mapping[str, Any]) -> tuple[Case, ...] | None:
    """Cases from the spec of that image or target, if these facts belong to it."""
    from imaging.spec.compat_cases import cases_of  # noqa: PLC0415 - pydantic comes with it: a quarter of a second
    from imaging.spec.load import load_named  # noqa: PLC0415
    from imaging.spec.plan import pinned  # noqa: PLC0415
    from imaging.spec.problems import SpecError  # noqa: PLC0415

    if not name or "/" in name:
        return None
    try:
        family = load_named(name)
    except SpecError:
        return None
    spec = family[0]
    stated = (spec.version, list(spec.cuda_lines), list(spec.frameworks))
    is_same = stated == tuple(facts.get(key) for key in ("version", "cuda_lines", "frameworks"))
    bases = {spec.base.image} if spec.base.image else {spec.base.reference, pinned(spec)}
    return cases_of(family) if is_same and facts.get("base") in bases else None


def _price(instance_type: str) -> Price | None:
    """Price from the table of AWS GPU instances."""
    from platforms.aws.prices import price_of  # noqa: PLC0415 - a comment on a stack without AWS needs no table of it

    price = price_of(instance_type)
    return Price(float(price.usd_per_hour), str(price.priced_on), price.source) if price else None
