#include "trace/replay/linked_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "base/free_pages.hpp"
#include "trace/replay/recorded.hpp"

namespace yantra::replay {

namespace {

constexpr std::int64_t absent = LinkedFile::no_time;

// Compact JSON; every step is false where something else comes.
class JsonReader {
public:
    explicit JsonReader(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

    bool at_end() const { return at_ == end_; }
    bool is(char wanted) const { return at_ != end_ && *at_ == wanted; }
    bool take(char wanted) {
        const bool found = is(wanted);
        at_ += found ? 1 : 0;
        return found;
    }
    bool take(std::string_view wanted) {
        const bool found = std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(wanted);
        at_ += found ? wanted.size() : 0;
        return found;
    }
    // Without its quotes, and with its escapes.
    bool text(std::string_view& into) {
        if (!take('"')) {
            return false;
        }
        const char* const begin = at_;
        for (; at_ != end_ && *at_ != '"'; ++at_) {
            if (*at_ == '\\' && ++at_ == end_) {
                return false;
            }
        }
        into = {begin, static_cast<std::size_t>(at_ - begin)};
        return take('"');
    }
    // An integer of 64 bits, and no other number.
    bool whole(std::int64_t& into) {
        const auto [past, error] = std::from_chars(at_, end_, into);
        const bool is_whole = error == std::errc() && past != end_ && (*past == ',' || *past == '}' || *past == ']');
        at_ = is_whole ? past : at_;
        return is_whole && into != absent;
    }
    bool skip(std::string_view& into) {
        const char* const begin = at_;
        std::size_t depth = 0;
        std::string_view text;
        do {
            if (at_ == end_) {
                return false;
            }
            const char c = *at_;
            if (c == '"') {
                if (!this->text(text)) {
                    return false;
                }
                continue;
            }
            if (depth == 0 && (c == ',' || c == '}' || c == ']')) {
                break;
            }
            depth += c == '[' || c == '{' ? 1 : 0;
            depth -= c == ']' || c == '}' ? 1 : 0;
            ++at_;
        } while (depth > 0 || (at_ != end_ && *at_ != ',' && *at_ != '}' && *at_ != ']'));
        into = {begin, static_cast<std::size_t>(at_ - begin)};
        return !into.empty();
    }

private:
    const char* at_;
    const char* end_;
};

enum Number : std::size_t { id, ctrl, stream, host_id, tid, start, dur, exclusive, device, correlation, bytes };
constexpr std::array<std::string_view, 11> numbers{"id",     "ctrl_deps",    "stream", "host_id",     "tid",  "start_ns",
                                                   "dur_ns", "exclusive_ns", "device", "correlation", "bytes"};
enum Text : std::size_t { name, cat, pg_name };
constexpr std::array<std::string_view, 3> texts{"name", "cat", "pg_name"};
enum Piece : std::size_t { inputs, outputs, comm };
constexpr std::array<std::string_view, 3> pieces{"inputs", "outputs", "comm"};
constexpr std::array<std::string_view, 5> derived{"inclusive_dur", "exclusive_dur", "ts", "inter_thread_dep", "ph"};

struct Launch {
    std::int64_t tid = absent, start = absent, end = absent;
    std::string_view name;
};

// One node, whose texts are views of the piece.
class NodeReader {
public:
    std::array<std::int64_t, numbers.size()> number{};
    std::array<std::string_view, texts.size()> text{};
    std::array<std::string_view, pieces.size()> piece{};
    std::string layout;
    std::vector<std::int64_t> values;
    std::vector<std::int64_t> after;
    std::optional<Launch> launch;
    bool has_cat = false;

    bool read(JsonReader& in) {
        number.fill(absent);
        text.fill({});
        piece.fill({});
        layout.clear();
        values.clear();
        after.clear();
        launch.reset();
        has_cat = false;
        if (!in.take('{')) {
            return false;
        }
        do {
            std::string_view key;
            if (!in.text(key) || !in.take(':') || !field(in, key)) {
                return false;
            }
        } while (in.take(','));
        return in.take('}') && number[id] != absent && number[ctrl] != absent;
    }

private:
    bool field(JsonReader& in, std::string_view key) {
        if (const auto found = std::ranges::find(numbers, key); found != numbers.end()) {
            return in.whole(number[static_cast<std::size_t>(found - numbers.begin())]);
        }
        if (const auto found = std::ranges::find(texts, key); found != texts.end()) {
            has_cat |= key == texts[cat];
            return in.text(text[static_cast<std::size_t>(found - texts.begin())]);
        }
        if (const auto found = std::ranges::find(pieces, key); found != pieces.end()) {
            return in.skip(piece[static_cast<std::size_t>(found - pieces.begin())]);
        }
        if (key == "attrs") {
            return attributes(in);
        }
        if (key == "after") {
            return list(in);
        }
        if (key == "launch") {
            return call(in);
        }
        std::string_view skipped;
        return std::ranges::find(derived, key) != derived.end() && in.skip(skipped);
    }

    bool attributes(JsonReader& in) {
        if (!in.take('[')) {
            return false;
        }
        layout += '[';
        while (!in.is(']')) {
            if (layout.size() > 1) {
                layout += ',';
            }
            if (!attribute(in) || !(in.take(',') || in.is(']'))) {
                return false;
            }
        }
        layout += ']';
        return in.take(']');
    }

    bool attribute(JsonReader& in) {
        std::string_view called, type, value;
        if (!in.take("{\"name\":") || !in.text(called) || !in.take(",\"type\":") || !in.text(type) ||
            !in.take(",\"value\":")) {
            return false;
        }
        layout.append("{\"name\":\"").append(called).append("\",\"type\":\"").append(type).append("\",\"value\":");
        if (std::int64_t number_ = 0; in.whole(number_)) {
            values.push_back(number_);
            layout += '\0';
        } else if (in.skip(value)) {
            layout += value;
        } else {
            return false;
        }
        layout += '}';
        return in.take('}');
    }

    bool list(JsonReader& in) {
        if (!in.take('[')) {
            return false;
        }
        while (!in.is(']')) {
            if (std::int64_t one = 0; in.whole(one)) {
                after.push_back(one);
            } else {
                return false;
            }
            if (!in.take(',') && !in.is(']')) {
                return false;
            }
        }
        return in.take(']');
    }

    bool call(JsonReader& in) {
        Launch read;
        if (!in.take("{\"tid\":") || !in.whole(read.tid) || !in.take(",\"start_ns\":") || !in.whole(read.start) ||
            !in.take(",\"end_ns\":") || !in.whole(read.end) || !in.take(",\"name\":") || !in.text(read.name)) {
            return false;
        }
        launch = read;
        return in.take('}');
    }
};

std::int64_t or_zero(std::int64_t number) { return number == absent ? 0 : number; }

// A place that is not known yet: an id.
bool as_place(std::int64_t of, std::uint32_t& into) {
    into = static_cast<std::uint32_t>(of);
    return of >= 0 && of < missing;
}

bool add_operator(LinkedFile& file, const NodeReader& node) {
    auto& all = file.operators;
    const auto& number = node.number;
    std::uint32_t parent = none;
    if (node.launch || !node.after.empty() || node.piece[inputs].empty() || node.piece[outputs].empty() ||
        (number[ctrl] != number[id] && !as_place(number[ctrl], parent))) {
        return false;
    }
    all.id.push_back(number[id]);
    all.host_id.push_back(or_zero(number[host_id]));
    all.tid.push_back(or_zero(number[tid]));
    all.start.push_back(number[start]);
    all.dur.push_back(or_zero(number[dur]));
    all.exclusive.push_back(or_zero(number[exclusive]));
    all.parent.push_back(parent);
    all.name.push_back(file.names.intern(node.text[name]));
    all.layout.push_back(file.layouts.intern(node.layout.empty() ? "[]" : node.layout));
    all.inputs.push_back(file.tensors.intern(node.piece[inputs]));
    all.outputs.push_back(file.tensors.intern(node.piece[outputs]));
    all.numbers.insert(all.numbers.end(), node.values.begin(), node.values.end());
    all.first.push_back(all.numbers.size());
    if (!node.piece[comm].empty()) {
        file.operators_with_comm.push_back(static_cast<std::uint32_t>(all.id.size() - 1));
        file.operator_comm.emplace_back(node.piece[comm]);
    }
    return true;
}

bool add_device_op(LinkedFile& file, const NodeReader& node) {
    auto& all = file.ops;
    const auto& number = node.number;
    std::uint32_t parent = none;
    if (number[bytes] < -1 && number[bytes] != absent) {
        return false;
    }
    if (number[ctrl] != number[id] && !as_place(number[ctrl], parent)) {
        return false;
    }
    all.id.push_back(number[id]);
    all.device.push_back(or_zero(number[device]));
    all.stream.push_back(or_zero(number[stream]));
    all.start.push_back(or_zero(number[start]));
    all.dur.push_back(or_zero(number[dur]));
    all.correlation.push_back(or_zero(number[correlation]));
    all.bytes.push_back(number[bytes] == absent ? -1 : number[bytes]);
    all.parent.push_back(parent);
    all.name.push_back(file.names.intern(node.text[name]));
    all.cat.push_back(file.names.intern(node.text[cat]));
    all.group.push_back(file.names.intern(node.text[pg_name]));
    const Launch launch = node.launch.value_or(Launch{0, 0, 0, {}});
    all.launch_tid.push_back(launch.tid);
    all.launch_start.push_back(launch.start);
    all.launch_end.push_back(launch.end);
    all.launch_name.push_back(file.names.intern(launch.name));
    all.is_launched.push_back(node.launch ? 1 : 0);
    for (const std::int64_t other : node.after) {
        if (!as_place(other, all.after.emplace_back())) {
            return false;
        }
    }
    all.first.push_back(static_cast<std::uint32_t>(all.after.size()));
    if (!node.piece[comm].empty()) {
        file.ops_with_comm.push_back(static_cast<std::uint32_t>(all.id.size() - 1));
        file.op_comm.emplace_back(node.piece[comm]);
    }
    return number[bytes] != -1;
}

}  // namespace

bool LinkedFile::feed(std::string_view text) {
    JsonReader in(text);
    NodeReader node;
    while (!in.at_end()) {
        if (!node.read(in) || !(node.has_cat ? add_device_op(*this, node) : add_operator(*this, node))) {
            return false;
        }
        if (!in.take(',') && !in.at_end()) {
            return false;
        }
    }
    return true;
}

bool LinkedFile::finish() {
    give_back_free_pages();
    const std::size_t count = operators.id.size() + ops.id.size();
    std::vector<std::uint32_t> operator_at(count, missing), op_at(count, missing);
    const auto number = [count](const std::vector<std::int64_t>& ids, std::vector<std::uint32_t>& at) {
        for (std::uint32_t place = 0; place < ids.size(); ++place) {
            const bool ascends = place == 0 || ids[place] > ids[place - 1];
            if (!ascends || ids[place] < 0 || static_cast<std::size_t>(ids[place]) >= count) {
                return false;
            }
            at[static_cast<std::size_t>(ids[place])] = place;
        }
        return true;
    };
    if (!number(operators.id, operator_at) || !number(ops.id, op_at)) {
        return false;
    }
    const auto place = [count](std::vector<std::uint32_t>& ids, const std::vector<std::uint32_t>& at) {
        for (std::uint32_t& one : ids) {
            if (one != none) {
                one = one < count ? at[one] : missing;
                if (one == missing) {
                    return false;
                }
            }
        }
        return true;
    };
    for (std::size_t one = 0; one < count; ++one) {
        if ((operator_at[one] == missing) == (op_at[one] == missing)) {
            return false;
        }
    }
    return place(operators.parent, operator_at) && place(ops.parent, operator_at) && place(ops.after, op_at);
}

}  // namespace yantra::replay
