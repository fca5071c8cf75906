"""The benchmarks run: tiny sizes, nothing is said about times."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks import __main__ as command, pipeline, slow_consumer
from benchmarks.bench import Bench, Effort, Finding, Report, at_least, at_most, table
from benchmarks.measure import ChildFailedError, child, in_turns, median_of
from benchmarks.peers import OURS, PEERS, VENVS, Stream
from benchmarks.registry import BENCHES

TINY = Effort(scale=0.001, rounds=1)

MISSING = Stream("nobody", "agentscope_rx_stream.py", venv="no such venv", requirement="nobody")


def script(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "script.py"
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(
    "bench", [bench for bench in BENCHES if bench is not pipeline.BENCH], ids=lambda bench: bench.name
)
def test_every_bench_finds_figures(bench: Bench) -> None:
    report = bench.run(TINY)
    assert report.findings
    for finding in report.findings:
        assert math.isfinite(finding.figure)
        assert str(finding.bar) in str(finding)
    assert len({len(row) for row in report.rows}) == 1
    assert list(table(report.rows))


def test_the_pipeline_without_peers_has_nothing_to_compare_with() -> None:
    report = pipeline.run(TINY, [MISSING])
    assert [row[0] for row in report.rows[1:]] == [OURS.name]
    assert report.findings == ()
    skipped, nothing = report.notes
    assert skipped == "nobody: skipped, not installed; python -m benchmarks.peers install no such venv"
    assert "nothing to compare with" in nothing


def test_the_pipeline_beside_a_peer(tmp_path: Path) -> None:
    times = ", ".join(f'"{name}": 1e6' for name in ("first_cpu", "first_wall", "second_cpu", "second_wall"))
    said = f'{{"events": 1, "version": "1.0", {times}}}'
    slow = Stream("slow", str(script(tmp_path, f"print('{said}')")))
    report = pipeline.run(TINY, [slow])
    assert [row[0] for row in report.rows[1:]] == [OURS.name, "slow"]
    (finding,) = report.findings
    assert "slow" in finding.what
    assert finding.figure > 5
    assert finding.holds


def test_a_peer_that_does_not_run_is_skipped_with_its_own_words(tmp_path: Path) -> None:
    broken = Stream("broken", str(script(tmp_path, "raise SystemExit('no such model')")))
    report = pipeline.run(TINY, [broken])
    assert report.notes[0] == "broken: skipped, does not run: exit status 1: no such model"


@pytest.mark.heavy
@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_a_peer_streams(peer: Stream) -> None:
    if not peer.installed:
        pytest.skip(f"{peer.name} is not installed: python -m benchmarks.peers install")
    result = child(peer.command(50))
    assert result["events"] >= 50
    assert result["first_cpu"] > 0


def test_every_peer_has_a_script_and_an_environment_of_its_own() -> None:
    for peer in (OURS, *PEERS):
        assert Path(peer.command(1)[-2 if not peer.mode else -3]).is_file()
    for peer in PEERS:
        assert peer.python is not None
        assert VENVS in peer.python.parents
        assert peer.requirement


def test_a_source_that_does_not_pause_is_found_out() -> None:
    source = slow_consumer.Source()
    for _ in range(7):
        source.produce()
    source.consumed = 5
    source.produce()
    assert (source.lead, source.produced) == (7, 8)


def test_bars() -> None:
    assert at_least(5, "x").holds(5)
    assert not at_least(5, "x").holds(4.99)
    assert at_most(1.5).holds(1.5)
    assert not at_most(1.5).holds(1.51)
    assert str(Finding("it takes", 2, at_most(1.5, "x"))) == "it takes: 2.00x, bar <= 1.5x: MISSED"
    assert str(Finding("it takes", 1, at_most(1.5, "x"))) == "it takes: 1.00x, bar <= 1.5x: holds"


def test_turns_are_taken_round_by_round() -> None:
    order: list[str] = []
    contenders = {name: (lambda name=name: order.append(name) or len(order)) for name in "ab"}
    assert in_turns(contenders, 2) == {"a": [1, 3], "b": [2, 4]}
    assert order == ["a", "b", "a", "b"]
    assert median_of([{"cpu": 3}, {"cpu": 1}, {"cpu": 2}], "cpu") == 2


def test_a_child_says_its_result_last(tmp_path: Path) -> None:
    assert child([script(tmp_path, "print('noise'); print('{\"cpu\": 1}')")]) == {"cpu": 1}
    for bad, words in (("raise ValueError('wrong')", "wrong"), ("pass", "said nothing")):
        with pytest.raises(ChildFailedError, match=words):
            child([script(tmp_path, bad)])


# -------------------------------------------------------------------------------------------------- command line


@pytest.fixture
def two_benches(monkeypatch: pytest.MonkeyPatch) -> None:
    def bench(name: str, *findings: Finding) -> Bench:
        return Bench(name, f"the {name} one", lambda effort: Report([("", "n"), ("a", "1")], findings, ["a note"]))

    benches: Sequence[Bench] = (
        bench("good", Finding("it takes", 1, at_most(2))),
        bench("bad", Finding("it takes", 3, at_most(2)), Finding("it gives", 3, at_least(2))),
    )
    monkeypatch.setattr(command, "BENCHES", benches)


@pytest.mark.usefixtures("two_benches")
def test_a_missed_bar_is_an_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["good", "--quick"]) == 0
    assert "1 of 1 bars hold" in capsys.readouterr().out
    assert command.main([]) == 1
    said = capsys.readouterr().out
    assert "bad: the bad one" in said
    assert "  a note\n" in said
    assert "it takes: 3.00, bar <= 2: MISSED" in said
    assert "2 of 3 bars hold" in said


@pytest.mark.usefixtures("two_benches")
def test_a_bench_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        command.main(["ugly"])
    assert left.value.code == 2
    assert "known: good, bad" in capsys.readouterr().err


def test_the_commands_say_what_they_do() -> None:
    for module in ("benchmarks", "benchmarks.peers"):
        done = subprocess.run(
            [sys.executable, "-m", module, "--help"],
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=True,
        )
        assert f"python -m {module}" in done.stdout
