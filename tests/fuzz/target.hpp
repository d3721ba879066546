// What a fuzz target gives to the driver: libFuzzer's entry point, and inputs to start from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// Named as libFuzzer calls it, so that a target also links with clang's -fsanitize=fuzzer.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

// Well-formed inputs, made by our own writer.
std::vector<std::string> seeds();
