"""What is read of a shell script: commands that run, their words, and the files that it writes."""

from __future__ import annotations

import pytest

from yantra.base.shell import beside, commands_of, texts_of, written_files

ASKS = "#!/bin/bash\n#SBATCH --nodes=3  # of each\n#SBATCH --gres=gpu:h100:4\n"


def words(text: str) -> list[str]:
    """Of the last command; a word in doubt has a question mark."""
    return [word.text + "?" * bool(word.doubt) for word in commands_of(text)[-1]]


@pytest.mark.parametrize(
    "loop",
    [
        'while [[ "$1" != "" ]]; do',
        "while [ $# -gt 0 ]; do",
        'while getopts "m:" opt; do',
        'until [ -z "$1" ]; do',
    ],
)
def test_a_loop_over_arguments_that_are_not_given_does_not_run(loop: str) -> None:
    text = f"""A=4
{loop}
    case $1 in
        -a | --number )
            shift
            A=$1
            ;;
        * ) exit 1 ;;
    esac
    shift
done
run --a $A
"""
    assert words(text) == ["run", "--a", "4"]


@pytest.mark.parametrize(
    ("size", "layers"), [("7B", "32"), ("9B", "36"), ("13B-chat", "40"), ("x", "1")]
)
def test_the_first_pattern_that_matches_is_the_branch_of_case(size: str, layers: str) -> None:
    text = f"""S={size}
case "$S" in
  7B) L=32 ;;
  8B|9B) L=36 ;; (13B*)
    L=40
    ;;
  *) L=1 ;;
esac
run $L
"""
    assert words(text) == ["run", layers]


def test_an_unknown_value_leaves_every_branch_in_doubt() -> None:
    found = commands_of("case $(hostname) in a) X=1;; b) X=2;; esac\nrun --x $X\n")[-1]
    assert found[-1].doubt.startswith("line 1 makes it depend")


def test_a_loop_over_words_takes_the_first_and_notes_that_there_are_several() -> None:
    assert words("for X in 3; do\nrun $X\ndone\n") == ["run", "3"]
    with pytest.warns(match="line 1 takes several in turn; read with the first, 3"):
        assert words("for X in 3 4; do\nrun $X\ndone\n") == ["run", "3"]


@pytest.mark.parametrize(
    ("asks", "gives"),
    [
        ("${M##*/}", "Qwen3-8B-Base"),
        ("${M#*/}", "b/Qwen3-8B-Base"),
        ("${M%-*}", "a/b/Qwen3-8B"),
        ("${M%%-*}", "a/b/Qwen3"),
        ("${M//b/X}", "a/X/Qwen3-8B-Base"),
        ("${M/-Base}", "a/b/Qwen3-8B"),
        ("${M:2:1}", "b"),
        ("${M:+set}${U:+unset}", "set"),
        ("${U:-${M##*/}}", "Qwen3-8B-Base"),
        ("$(basename $M -Base)", "Qwen3-8B"),
        ("$(dirname ${M})", "a/b"),
        ("$[$N / 2]$(expr $N + 1)", "49"),
        ("${L[1]}${L[-1]}${#L[@]}", "yz3"),
        ("${T[8B]}${T[$K]}", "3640"),
    ],
)
def test_values_of_variables_are_cut_replaced_and_looked_up(asks: str, gives: str) -> None:
    text = f"""M=a/b/Qwen3-8B-Base
N=8 K=13B
L=(x y z)
declare -A T=([8B]=36)
T[13B]=40
run {asks}
"""
    assert words(text.replace("N=8 K=13B", "N=8\nK=13B")) == ["run", gives]


def test_a_function_runs_where_it_is_called_with_its_arguments() -> None:
    text = """start() {
  local size=$1
  run $size ${2:-1} $N
}
N=7
start 8B
"""
    assert [word.text for word in commands_of(text)[0]] == ["run", "8B", "1", "7"]
    assert words(text.replace("start 8B", "")) == ["run", "?", "1", "7"]  # by a computed name
    called = [one[1].text for one in commands_of(f"{text}start 4B 2\n")]
    assert called == ["8B", "4B"]


def test_variables_of_launchers_are_those_of_one_node() -> None:
    with pytest.warns(match=r"uses \$NNODES, which the script does not set; taken as 1"):
        assert words("run $((NNODES * 8)) ${NODE_RANK}") == ["run", "8", "0"]
    assert words("NNODES=4\nrun $((NNODES * 8))") == ["run", "32"]


def test_what_is_not_set_is_empty_in_conditions_and_files_are_not_there() -> None:
    text = 'if [ -n "$HERE" ] || [ -f ckpt ]; then A=1; else A=2; fi\nrun $A\n'
    assert words(text) == ["run", "2"]


def test_slurm_sets_what_the_script_asks_for() -> None:
    assert words(f"{ASKS}run $SLURM_NNODES $SLURM_GPUS_PER_NODE $SLURM_NTASKS") == [
        "run", "3", "4", "?",
    ]  # fmt: skip
    assert words(f"{ASKS}#SBATCH --ntasks-per-node=2\nrun $SLURM_NTASKS") == ["run", "6"]


def test_here_documents_are_files_with_variables_put_in() -> None:
    text = """Z=3
cat <<END > ds_$Z.json
{"stage": $Z, "of": "${Z}" (
END
cat > plain.json <<'END'
{"stage": $Z}
END
run ds_$Z.json  # cat <<NOT
"""
    assert words(text) == ["run", "ds_3.json"]
    files = {name: one.read({}) for name, one in written_files(text).items()}
    assert files == {
        "ds_3.json": '{"stage": 3, "of": "3" (\n',
        "plain.json": '{"stage": $Z}\n',
    }


def test_templates_are_filled_by_sed() -> None:
    text = 'N=2\nsed "s/STAGE/$N/" t.json \\\n | sed "s#FP#true#" \\\n > made.json\nrun\n'
    (made,) = written_files(text).values()
    assert made.read({"t.json": "STAGE FP"}) == "2 true"
    assert written_files("sed -n 3p t.json > made.json\n") == {}


def test_a_default_that_is_assigned_stays() -> None:
    assert words(': "${A:=4}" "${B=5}"\nrun $A $B ${A:-6} ${C-7}') == ["run", "4", "5", "4", "7"]


def test_a_default_may_be_written_out() -> None:
    text = 'N=$([ -z "$SIZE" ] && echo -n 2 || echo -n $SIZE)\nrun $((N * 3))\n'
    assert words(text) == ["run", "6"]
    assert words(f"SIZE=4\n{text}") == ["run", "12"]


INNER = 'if [ "$1" = 7B ]; then L=32; fi\nrun $L ${2:-8} $S $T $3\n'


def test_a_script_that_runs_another_gives_its_arguments_and_what_it_exports() -> None:
    text = "export S=1\nU=3\nT=2 bash a/in.sh 7B &> log\n"
    with beside({"a/in.sh": INNER.replace("$3", "$U")}):
        assert words(text) == ["run", "32", "8", "1", "2", "?"]
        assert "run $L" in texts_of(text)
    with beside({"a/in.sh": INNER}):
        found = commands_of("bash a/in.sh 7B 64\n")[-1]
    assert [word.text for word in found[1:3]] == ["32", "64"]
    assert found[-1].doubt.startswith(
        "a/in.sh, line 2 uses $3, which the script does not set: give"
    )


def test_a_script_that_is_sourced_sets_variables() -> None:
    with beside({"own.sh": "A=5\n"}):
        assert words("source own.sh\nrun $A\n") == ["run", "5"]
    assert words("source own.sh\nrun $A\n") == ["run", "?"]


def test_scripts_that_run_each_other_end() -> None:
    with beside({"a.sh": "bash a.sh\nrun\n"}):
        assert ["run"] in [[word.text for word in one] for one in commands_of("bash a.sh\n")]


@pytest.mark.parametrize(
    "counted",
    ["$(python -c 'import torch; print(torch.cuda.device_count())')", "`nvidia-smi -L | wc -l`"],
)
def test_devices_of_a_node_that_a_script_counts_are_eight_which_a_note_says(counted: str) -> None:
    with pytest.warns(match="line 1 counts the devices of a node; taken as 8"):
        assert words(f"N={counted}\nrun $((N * 2))\n") == ["run", "16"]


@pytest.mark.parametrize(
    ("test", "runs"),
    [("N > 3 && N % 2 == 0", True), ("N<4 || !N", False), ("$N >= 4", True), ("$# > 0", False)],
)
def test_conditions_of_arithmetic_are_decided(test: str, runs: bool) -> None:
    text = f"N=4\nA=--small\nif (({test})); then\n  A=--large\nfi\nrun $A\n"
    assert words(text) == ["run", "--large" if runs else "--small"]


def test_a_condition_of_arithmetic_without_its_numbers_stays_open() -> None:
    found = commands_of("if (( M > 1 )); then\n  run\nfi\n")
    assert found[-1][0].doubt == "line 1 makes it depend on a condition"


@pytest.mark.parametrize("quote", ["'", '"'])
def test_commands_that_another_shell_runs_are_the_scripts_own(quote: str) -> None:
    text = f"srun bash -lc {quote}\n  # a comment\n  A=5\n  run $A\n{quote} || exit 1\n"
    assert ["run", "5"] in [[word.text for word in one] for one in commands_of(text)]


def test_a_name_that_open_conditions_lengthen_does_not_double() -> None:
    text = "A=a\n" + 'if [ -n "$(x)" ]; then A="$A-b"; fi\n' * 40
    text += 'if [ -n "$(x)" ]; then A="c $A"; fi\n' * 40
    assert len(commands_of(text + "run $A\n")[-1]) < 10_000
