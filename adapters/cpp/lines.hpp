// The protocol of network programs, for programs in C++: reads its lines, writes its answers.
//
// What every line means is in docs/reference/external-networks.md.
// Trade-off: iostreams, which take a microsecond or so a word; a simulation takes longer.
// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#pragma once

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace yantra_lines {

using Time = std::uint64_t;   // whole picoseconds
inline constexpr Time never = std::numeric_limits<Time>::max();

struct Link {
    int from = 0;
    int to = 0;
    double bytes_per_ns = 0.0;
    double latency_ns = 0.0;
};

struct Fabric {
    std::vector<std::string> kinds;   // of devices: rank, switch, nic
    std::vector<Link> links;
    bool gives_routes = true;
};

struct Message {
    Time at = 0;
    std::uint64_t number = 0;
    int from = 0;
    int to = 0;
    std::uint64_t bytes = 0;
    std::vector<int> route;   // links; empty without given routes
};

// What to answer when the simulation has advanced.
struct Answer {
    std::vector<std::uint64_t> arrived;   // at `clock`
    Time clock = 0;
    Time next = never;
};

inline std::ostream& operator<<(std::ostream& out, const Answer& answer) {
    for (std::uint64_t message : answer.arrived) {
        out << "arrived " << message << ' ' << answer.clock << '\n';
    }
    out << "done " << answer.clock << ' ';
    return answer.next == never ? out << "never\n" : out << answer.next << '\n';
}

// A refusal is an exception whose text is told.
struct Refusal : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A decimal number, or `inf`.
inline double real(const std::string& word) {
    char* end = nullptr;
    const double value = std::strtod(word.c_str(), &end);
    if (end == word.c_str() || *end != '\0') {
        throw Refusal("expected a number, got " + word);
    }
    return value;
}

// Reads up to `begin`; false where the input ends.
inline bool read_fabric(std::istream& in, Fabric& fabric) {
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        std::string word;
        words >> word;
        if (word == "yantra-network") {
            words >> word;
            if (word != "1") {
                throw Refusal("this program speaks version 1, not " + word);
            }
        } else if (word == "device") {
            int number = 0;
            words >> number >> word;
            fabric.kinds.push_back(word);
        } else if (word == "link") {
            Link link;
            int number = 0;
            std::string rate, latency;
            words >> number >> link.from >> link.to >> rate >> latency;
            link.bytes_per_ns = real(rate);
            link.latency_ns = real(latency);
            fabric.links.push_back(link);
        } else if (word == "routes") {
            words >> word;
            fabric.gives_routes = word == "given";
        } else if (word == "begin") {
            return true;
        }
    }
    return false;
}

inline Message message_of(std::istringstream& words) {
    Message message;
    words >> message.at >> message.number >> message.from >> message.to >> message.bytes;
    for (int link = 0; words >> link;) {
        message.route.push_back(link);
    }
    return message;
}

// Reads messages, and gives each to `send`, up to a line `advance`: returns true and sets `until`. False at the end.
template <class Send>
bool read_up_to_advance(std::istream& in, Time& until, const Send& send) {
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        std::string word;
        words >> word;
        if (word == "send") {
            send(message_of(words));
        } else if (word == "advance") {
            words >> word;
            until = word == "never" ? never : std::stoull(word);
            return true;
        } else if (word == "end") {
            return false;
        }
    }
    return false;
}

// Runs the whole of a program's main(): what it throws is told to Yantra.
template <class Run>
int told(const Run& run) {
    try {
        run();
        return 0;
    } catch (const std::exception& error) {
        std::cout << "error " << error.what() << std::endl;
        return 1;
    }
}

}  // namespace yantra_lines
