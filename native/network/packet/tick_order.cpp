#include "network/packet/tick_order.hpp"

#include <algorithm>
#include <bit>

namespace yantra::packet {

void TickOrder::sort(std::vector<Place>& places) {
    const auto is_before = [](const Place& one, const Place& other) {
        return one.place != other.place ? one.place < other.place : one.at < other.at;
    };
    if (!std::is_sorted(places.begin(), places.end(), is_before) && !sort_by_link(places)) {
        std::sort(places.begin(), places.end(), is_before);
    }
}

// For places that differ by link alone, as in steps that all take at once. False if they do not, or two are equal.
bool TickOrder::sort_by_link(std::vector<Place>& places) {
    u64 most = 0;
    for (const Place& of : places) {
        if ((of.place ^ places[0].place) >> link_bits != 0) {
            return false;
        }
        most = std::max(most, of.place & most_links);
    }
    const u64 words = most / 64 + 1;
    if (words > 4 * places.size()) {
        return false;
    }
    is_there_.assign(words, 0);
    by_link_.resize(std::max<std::size_t>(by_link_.size(), words * 64));
    for (const Place& of : places) {
        const u64 link = of.place & most_links;
        const u64 bit = u64{1} << (link % 64);
        if ((is_there_[link / 64] & bit) != 0) {
            return false;
        }
        is_there_[link / 64] |= bit;
        by_link_[link] = of.what;
    }
    auto next = places.begin();
    for (u64 word = 0; word < words; ++word) {
        for (u64 left = is_there_[word]; left != 0; left &= left - 1) {
            (next++)->what = by_link_[word * 64 + static_cast<u32>(std::countr_zero(left))];
        }
    }
    return true;
}

}  // namespace yantra::packet
