#include "network/flow/level/lines.hpp"

#include <utility>

#include "base/ensure.hpp"

namespace yantra::inline YANTRA_RUN::flow {

bool Lines::waits(PartId number) {
    Part& part = all_.parts[number];
    if (part.bytes == 0 || all_.transits[part.transit].is_background()) {
        return false;
    }
    const u64 key = all_.sending.line_of(part);
    Line* const line = lines_.find(key);
    if (line == nullptr) {
        lines_.add(key, {all_.clock.now(), part.order, {}, {}});
        part.is_in_line = true;
        return false;
    }
    if (line->came == all_.clock.now() && part.order < line->order) {
        all_.ways->came_at_once(part.from, part.to);
    }
    line->came = all_.clock.now();
    line->order = part.order;
    PartId& place = line->first.is_none() ? line->first : all_.parts[line->last].behind;
    place = line->last = number;
    return true;
}

void Lines::has_its_own(PartId number) {
    Part& part = all_.parts[number];
    const u64 key = all_.sending.line_of(part);
    ensure(lines_.find(key) == nullptr, "a message that was alone, behind another");
    lines_.add(key, {part.entered, part.order, {}, {}});
    part.is_in_line = true;
}

PartId Lines::pass_on(PartId number) {
    all_.parts[number].is_in_line = false;
    const u64 key = all_.sending.line_of(all_.parts[number]);
    Line& line = *lines_.find(key);
    const PartId next = line.first;
    if (next.is_none()) {
        lines_.erase(key);
        return next;
    }
    line.first = std::exchange(all_.parts[next].behind, PartId::none);
    all_.parts[next].is_in_line = true;
    return next;
}

}  // namespace yantra::inline YANTRA_RUN::flow
