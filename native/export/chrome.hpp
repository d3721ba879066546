// ChromeWriter: a timeline in Chromium's Trace Event Format. Slices are pairs of B and E, not X, so
// that a message at a slice's last moment belongs to it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/interner.hpp"
#include "export/timeline.hpp"

namespace yantra {

class ChromeWriter {
public:
    ChromeWriter();

    u64 text(std::string_view words);

    // Ordered by `place`.
    void process(u64 track, u64 number, std::string_view name, u64 place);
    void track(u64 track, u64 parent, std::string_view name, std::string_view about);
    void counter(u64 track, u64 parent, std::string_view name, std::string_view unit);
    void slices(const Slices& slices, const MessageEnds& ends);
    void values(u64 track, std::span<const u64> time, std::span<const double> value);

    std::string take();
    void finish();

private:
    void event(char phase, u64 track, u64 time);
    void metadata(std::string_view what, u64 process, u64 thread, std::string_view key,
                  std::string_view value);
    void arguments(const std::vector<Argument>& arguments, std::size_t at);
    u64 process_of(u64 track) const;

    Interner texts_;
    std::vector<std::string> quoted_;    // by text, as JSON
    std::vector<u64> process_;           // by track; `absent` for none
    std::vector<std::string> counted_;   // by track: the name of a counter, as JSON
    std::string out_;
    bool empty_ = true;
};

}  // namespace yantra
