#!/bin/sh
# Builds a fuzz target with sanitizers and runs it: tests/fuzz/fuzz.sh TARGET SECONDS [SEED [FILE ...]]
# TARGET is the name of a tests/fuzz/TARGET_target.cpp. Run from the root of the repository.
set -eu
target=$1
shift
out=build/fuzz
mkdir -p "$out"
flags="-std=c++20 -g -Wall -Wextra -Inative -Itests/fuzz"
checks="-fsanitize=address,undefined -fno-sanitize-recover=all"
for source in native/trace/*.cpp "tests/fuzz/${target}_target.cpp"; do
    object=$out/$(echo "$source" | tr / _).o
    ${CXX:-g++} $flags -O1 $checks -fsanitize-coverage=trace-pc -c "$source" -o "$object"
    objects="${objects:-} $object"
done
${CXX:-g++} $flags -O2 -c tests/fuzz/driver.cpp -o "$out/driver.o"
${CXX:-g++} $checks "$out/driver.o" $objects -o "$out/$target"
exec "$out/$target" "$@"
