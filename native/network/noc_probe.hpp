// What a recorded run notes of messages on chip. Consecutive packets of a message on a channel are
// one stretch.
#pragma once

#include <algorithm>
#include <vector>

#include "network/ways_probe.hpp"

namespace yantra::inline YANTRA_RUN {

#ifndef YANTRA_RECORDED

struct NocProbe : WaysProbe {
    static constexpr bool notes_crossings = false;

    using WaysProbe::WaysProbe;
    void crossed(u32, u32, u64, u64, u64) {}
    void over(u32) {}
};

#else

class NocProbe : public WaysProbe {
public:
    static constexpr bool notes_crossings = true;

    explicit NocProbe(Recorder& recorder) : WaysProbe(recorder) {}

    void crossed(u32 message, u32 link, u64 start, u64 end, u64 bytes) {
        if (stretches_.size() <= link) {
            stretches_.resize(link + std::size_t{1});
        }
        Stretch& last = stretches_[link];
        if (last.bytes > 0 && (last.message != message || start > last.end)) {
            put(link);
        }
        if (last.bytes == 0) {
            last = {message, start, end, 0};
        }
        last.end = std::max(last.end, end);
        last.bytes += bytes;
    }
    // The number may be reused.
    void over(u32 message) {
        for (u32 link = 0; link < stretches_.size(); ++link) {
            if (stretches_[link].bytes > 0 && stretches_[link].message == message) {
                put(link);
            }
        }
    }

private:
    struct Stretch {
        u32 message = 0;
        u64 start = 0;
        u64 end = 0;
        u64 bytes = 0;
    };

    void put(u32 link) {
        Stretch& last = stretches_[link];
        carried(last.message, link, last.start, last.end, last.bytes);
        last.bytes = 0;
    }

    std::vector<Stretch> stretches_;   // by link: the last one, while it may grow
};

#endif

}  // namespace yantra
