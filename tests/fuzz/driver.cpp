// A small coverage-guided fuzzer for compilers without libFuzzer: driver SECONDS [SEED [FILE ...]].
//
// Inputs that reach new code are kept and changed further. Half of the changes are made inside one
// record of a length-prefixed stream, whose length is then set right, so that they get past the framing.
// FILEs are tried first: a crash can be run again. The input that crashed is left in ./fuzz-crash.
// Trade-off: coverage is a map of hashed code addresses, one bit each; nothing is minimised.
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>

#include "target.hpp"

namespace {

// The sanitizer's callbacks have no argument of ours, so what they touch must be global.
constexpr std::size_t map_size = 1U << 13U;
std::array<std::uint8_t, map_size> reached{};
const std::string* running = nullptr;

void keep_input() {
    if (running != nullptr) {
        std::ofstream("fuzz-crash", std::ios::binary) << *running;
        std::cerr << "the input is in ./fuzz-crash\n";
    }
}

class Fuzzer {
public:
    explicit Fuzzer(std::uint64_t seed) : random_(seed) {}

    // True if the input reached code that no input before it did.
    bool try_input(const std::string& input) {
        running = &input;
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
        running = nullptr;
        bool is_new = false;
        for (std::size_t i = 0; i < map_size; ++i) {
            is_new |= reached[i] > seen_[i];
            seen_[i] |= reached[i];
        }
        reached.fill(0);
        if (is_new) {
            corpus_.push_back(input);
        }
        ++runs_;
        return is_new;
    }

    void run(std::chrono::seconds time) {
        const auto end = std::chrono::steady_clock::now() + time;
        while (std::chrono::steady_clock::now() < end) {
            std::string input = corpus_[below(corpus_.size())];
            for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
                input = below(2) == 0 ? changed(input) : changed_inside_a_record(input);
            }
            try_input(input);
        }
        std::cout << runs_ << " runs, " << corpus_.size() << " inputs kept, no fault\n";
    }

private:
    std::size_t below(std::size_t limit) {
        return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random_);
    }

    std::size_t place(const std::string& input) { return below(input.size() + 1); }

    std::string changed(std::string input) {
        constexpr std::array<std::uint8_t, 10> telling{0, 1, 2, 0x0a, 0x52, 0x7f, 0x80, 0xc0, 0xff, 0xed};
        const std::size_t at = place(input);
        const std::string& other = corpus_[below(corpus_.size())];
        const std::size_t from = place(other);
        switch (below(7)) {
            case 0: return input.insert(at, 1, static_cast<char>(below(256)));
            case 1: return input.erase(at, 1 + below(8));
            case 2: return input.insert(at, other.substr(from, below(40)));
            case 3: return input.substr(0, at) + other.substr(from);
            case 4: return input.insert(at, 1 + below(11), static_cast<char>(telling[below(10)]));
            default:
                if (at < input.size()) {
                    input[at] = below(2) == 0 ? static_cast<char>(telling[below(10)])
                                              : static_cast<char>(input[at] ^ (1 << below(8)));
                }
                return input;
        }
    }

    std::string changed_inside_a_record(const std::string& input) {
        std::size_t begin = 0;  // of the record, at its length
        for (std::size_t skip = below(6);; --skip) {
            std::size_t body = begin;
            std::size_t size = 0;
            for (unsigned shift = 0; body < input.size() && shift < 28; shift += 7) {
                const auto digit = static_cast<std::uint8_t>(input[body++]);
                size |= static_cast<std::size_t>(digit & 0x7fU) << shift;
                if (digit < 0x80) {
                    break;
                }
            }
            if (size > input.size() - body) {
                return changed(input);
            }
            if (skip == 0) {
                return input.substr(0, begin) + framed(changed(input.substr(body, size))) +
                       input.substr(body + size);
            }
            begin = body + size < input.size() ? body + size : 0;
        }
    }

    static std::string framed(const std::string& body) {
        std::string out;
        for (std::size_t size = body.size();; size >>= 7U) {
            if (size < 0x80) {
                return out.append(1, static_cast<char>(size)) + body;
            }
            out.push_back(static_cast<char>((size & 0x7fU) | 0x80U));
        }
    }

    std::mt19937_64 random_;
    std::vector<std::string> corpus_{""};
    std::array<std::uint8_t, map_size> seen_{};
    std::uint64_t runs_ = 0;
};

}  // namespace

extern "C" void __sanitizer_cov_trace_pc() {
    const auto address = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
    reached[(address ^ (address >> 13U)) % map_size] = 1;
}

extern "C" void __sanitizer_set_death_callback(void (*callback)());

int main(int count, char** arguments) {
    if (count < 2) {
        std::cerr << "usage: " << arguments[0] << " SECONDS [SEED [FILE ...]]\n";
        return 2;
    }
    __sanitizer_set_death_callback(keep_input);
    std::signal(SIGABRT, [](int) {
        keep_input();
        std::_Exit(1);
    });
    Fuzzer fuzzer(count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 1);
    for (int i = 3; i < count; ++i) {
        std::ifstream file(arguments[i], std::ios::binary);
        fuzzer.try_input({std::istreambuf_iterator<char>(file), {}});
    }
    for (const std::string& input : seeds()) {
        fuzzer.try_input(input);
    }
    fuzzer.run(std::chrono::seconds(std::strtoll(arguments[1], nullptr, 10)));
    return 0;
}
