// Diagnostic: a finding about a trace. Trade-off: the first few of each kind are kept and the rest
// counted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace yantra {

enum class Severity : std::uint8_t { warning = 0, error = 1 };

struct Diagnostic {
    Severity severity = Severity::error;
    std::string code;  // stable name of the kind, such as "dangling-dependency"
    std::uint64_t node_id = 0;
    std::string name;
    std::uint64_t byte_offset = 0;
    std::string text;
    bool about_node = true;      // false: about the file; id and name say nothing
    std::uint64_t left_out = 0;  // on the last one kept of a code: how many more there were
};

class DiagnosticList {
public:
    static constexpr std::uint64_t kept_per_code = 20;

    // True if it is kept.
    bool has_room(std::string_view code) {
        for (Tally& tally : tallies_) {
            if (tally.code == code) {
                return ++tally.count <= kept_per_code;
            }
        }
        tallies_.push_back({std::string(code), 1});
        return true;
    }

    void add(Diagnostic finding) { found_.push_back(std::move(finding)); }

    std::vector<Diagnostic> take() && {
        for (const Tally& tally : tallies_) {
            if (tally.count > kept_per_code) {
                last_of(tally.code).left_out = tally.count - kept_per_code;
            }
        }
        return std::move(found_);
    }

private:
    struct Tally {
        std::string code;
        std::uint64_t count = 0;
    };

    Diagnostic& last_of(std::string_view code) {
        return *std::find_if(found_.rbegin(), found_.rend(),
                             [&](const Diagnostic& finding) { return finding.code == code; });
    }

    std::vector<Diagnostic> found_;
    std::vector<Tally> tallies_;
};

}  // namespace yantra
