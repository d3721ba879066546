// Ready: which places of a NIC's list are worth a look, a bit for each. Trade-off: whoever changes
// a sender must call Senders::touch.
#pragma once

#include <bit>
#include <vector>

#include "base/types.hpp"

namespace yantra::packet {

class Ready {
public:
    u32 ended = 0;

    void set(u32 at) {
        if (at / 64 >= words_.size()) [[unlikely]] {
            words_.resize(at / 64 + std::size_t{1});
        }
        words_[at / 64] |= u64{1} << (at % 64);
    }
    void clear(u32 at) { words_[at / 64] &= ~(u64{1} << (at % 64)); }
    void clear_if_there(u32 at) {
        if (at / 64 < words_.size()) {
            clear(at);
        }
    }
    bool has(u32 at) const { return at / 64 < words_.size() && (words_[at / 64] >> (at % 64) & 1) != 0; }
    // In [at, end), or `end`.
    u32 from(u32 at, u32 end) const {
        for (u32 word = at / 64; word * u64{64} < end && word < words_.size(); ++word) {
            const u64 here = words_[word] & (word == at / 64 ? ~u64{0} << (at % 64) : ~u64{0});
            if (here != 0) {
                const u32 found = word * 64 + static_cast<u32>(std::countr_zero(here));
                return found < end ? found : end;
            }
        }
        return end;
    }

private:
    std::vector<u64> words_;
};

}  // namespace yantra::packet
