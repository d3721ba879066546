#include "trace/linking/kineto_event.hpp"

#include <algorithm>
#include <cmath>

namespace yantra::linking {

namespace {

constexpr std::array<std::string_view, KinetoEvent::kept> kept_numbers{
    "External id", "Record function id", "Sequence number", "correlation", "device", "bytes"};
constexpr std::array<std::string_view, 9> other_numbers{
    "Fwd thread id", "wait_on_stream", "wait_on_cuda_event_record_corr_id", "In msg nelems", "Out msg nelems",
    "Group size",    "Src Rank",       "Dst Rank",                          "Seq"};
constexpr std::array<std::string_view, 4> texts{"cuda_sync_kind", "Collective name", "dtype",
                                                "Process Group Description"};
constexpr std::array<std::string_view, KinetoEvent::shape_fields> shape_names{"Input Dims", "Input type",
                                                                              "Concrete Inputs", "Input Strides"};
constexpr double exact_us = 8796093022208.0;  // 2^43: beyond, a double has no nanoseconds
constexpr std::int64_t largest_ns = std::int64_t{1} << 62U;
constexpr double longest_us = static_cast<double>(largest_ns) / 2000;

// HIP's calls have some numbers as text.
bool whole_or_null(JsonScan& in, std::int64_t& into) {
    std::string_view text;
    into = no_number;
    if (!in.is('"')) {
        return in.null() || in.whole(into);
    }
    const bool is_plain = in.text(text) && (text == "0" || (!text.empty() && text.front() > '0'));
    return is_plain && text.size() < 19 && JsonScan::parse(text, into);
}

bool number_or_null(JsonScan& in, std::string_view& into, bool& is_whole) {
    into = {};
    return in.null() || in.number(into, is_whole);
}

bool any(JsonScan& in, NumberOrText& into) {
    using Kind = NumberOrText::Kind;
    std::string_view skipped;
    if (in.is('"')) {
        into.kind = Kind::text;
        return in.text(into.text);
    }
    if (in.whole(into.number)) {
        into.kind = Kind::number;
        return true;
    }
    into.kind = in.is('n') ? Kind::none : Kind::other;
    return in.skip(skipped);
}

template <class Names>
std::size_t place_in(const Names& names, std::string_view name) {
    return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

// ns of decimal us, half to even; false beyond what fits or with an exponent.
bool exact_ns(std::string_view us, std::int64_t& into) {
    const bool is_negative = us.starts_with('-');
    us.remove_prefix(is_negative ? 1 : 0);
    const std::size_t point = std::min(us.find('.'), us.size());
    const std::string_view whole = us.substr(0, point);
    std::string_view rest = us.substr(std::min(point + 1, us.size()));
    if (!JsonScan::parse(whole, into) || into >= largest_ns / 1000 || us.find_first_of("eE") != std::string_view::npos) {
        return false;
    }
    for (int digit = 0; digit < 3; ++digit) {
        into = into * 10 + (rest.empty() ? 0 : rest.front() - '0');
        rest.remove_prefix(rest.empty() ? 0 : 1);
    }
    const bool is_half = rest.starts_with('5') && rest.find_first_not_of('0', 1) == std::string_view::npos;
    const bool is_more = !rest.empty() && rest.front() >= '5' && !is_half;
    into += is_more || (is_half && into % 2 != 0) ? 1 : 0;
    into = is_negative ? -into : into;
    return true;
}

bool as_double(std::string_view token, double& into) {
    const auto [past, error] = std::from_chars(token.data(), token.data() + token.size(), into);
    return error == std::errc() && past == token.data() + token.size();
}

}  // namespace

bool KinetoEvent::read(JsonScan& in) {
    ph = cat = name = args = ts = dur = {};
    has_name = has_id = communicates = false;
    pid = tid = stream = {};
    number.fill(no_number);
    shape.fill("[]");
    return in.object([&](std::string_view key) { return field(in, key); });
}

bool KinetoEvent::field(JsonScan& in, std::string_view key) {
    std::string_view skipped;
    if (key == "ph") {
        return in.text(ph) && ph.find('\\') == std::string_view::npos;
    }
    if (key == "cat") {
        cat = {};
        return in.null() || in.text(cat);
    }
    if (key == "name") {
        name = {};
        has_name = !in.null();
        return !has_name || in.text(name);
    }
    if (key == "pid") {
        return any(in, pid);
    }
    if (key == "tid") {
        return any(in, tid) && tid.text.find('\\') == std::string_view::npos;
    }
    if (key == "ts") {
        return number_or_null(in, ts, is_whole_ts);
    }
    if (key == "dur") {
        return number_or_null(in, dur, is_whole_dur);
    }
    if (key == "id") {
        has_id = in.whole(id);
        return has_id || in.skip(skipped);
    }
    if (key == "args") {
        JsonScan ahead = in;
        return args.empty() && (in.null() || (ahead.skip(args) && in.object([&](std::string_view argument_key) {
            return argument(in, argument_key);
        })));
    }
    return in.skip(skipped);
}

bool KinetoEvent::argument(JsonScan& in, std::string_view key) {
    std::string_view skipped;
    std::int64_t other = 0;
    if (const std::size_t at = place_in(kept_numbers, key); at < kept) {
        return whole_or_null(in, number[at]);
    }
    if (key == "stream") {
        return any(in, stream) && stream.kind != NumberOrText::Kind::other;
    }
    if (key == "Process Group Name") {
        NumberOrText group;
        communicates |= !in.is('n');
        return any(in, group) && group.kind != NumberOrText::Kind::other;
    }
    if (place_in(texts, key) < texts.size()) {
        communicates |= key == "Collective name" && !in.is('n');
        return in.null() || in.text(skipped);
    }
    if (place_in(other_numbers, key) < other_numbers.size()) {
        return whole_or_null(in, other);
    }
    if (const std::size_t at = place_in(shape_names, key); at < shape_fields) {
        return in.skip(shape[at]);
    }
    return in.skip(skipped);
}

bool KinetoEvent::times(std::int64_t& start, std::int64_t& end, Exactness& exactness) const {
    std::int64_t whole_us = 0, span = 0;
    double us = 0;
    if (ts.empty() || !exact_ns(ts, start)) {
        return false;
    }
    if (!is_whole_ts) {
        if (!as_double(ts, us)) {
            return false;
        }
        if (-exact_us < us && us < exact_us) {
            whole_us = static_cast<std::int64_t>(us);
            const std::int64_t ns = whole_us * 1000 + std::llrint((us - static_cast<double>(whole_us)) * 1000);
            exactness.differ |= ns != start;
            start = ns;
        } else {
            exactness.is_needed = true;
        }
    }
    if (dur.empty()) {
        span = 0;
    } else if (is_whole_dur) {
        if (!JsonScan::parse(dur, whole_us) || whole_us < 0 || static_cast<double>(whole_us) >= longest_us) {
            return false;
        }
        span = whole_us * 1000;
    } else {
        if (!as_double(dur, us) || us < 0 || us >= longest_us) {
            return false;
        }
        span = std::llrint(us * 1000);
    }
    end = start + span;
    return true;
}

}  // namespace yantra::linking
