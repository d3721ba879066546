#include "trace/linking/kineto_file.hpp"

#include <algorithm>

#include "base/free_pages.hpp"
#include "trace/linking/in_order.hpp"

namespace yantra::linking {

namespace {

constexpr std::int64_t texts_from = std::int64_t{1} << 40U;  // numbers of threads and streams that are texts
constexpr std::size_t digits_of_a_number = 19;

std::int64_t number_of(Interner& texts, std::string_view text) {
    const bool is_decimal = !text.empty() && text.size() < digits_of_a_number &&
                            text.find_first_not_of("0123456789") == std::string_view::npos;
    std::int64_t number = 0;
    if (is_decimal && std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc()) {
        return number;
    }
    return texts_from + texts.intern(text);
}

void count(Interner& what, std::vector<std::uint64_t>& counts, std::string_view one) {
    const std::uint32_t at = what.intern(one);
    counts.resize(what.names().size());
    ++counts[at];
}

// An empty column has no number in any of the `rows` so far.
void put(std::vector<std::int64_t>& column, std::size_t rows, std::int64_t value) {
    if (value == no_number && column.empty()) {
        return;
    }
    column.resize(rows, no_number);
    column.push_back(value);
}

class Sorter {
public:
    explicit Sorter(KinetoFile& file) : file_(file) {}

    bool take(const KinetoEvent& event) {
        const auto index = static_cast<std::uint32_t>(file_.events++);
        const std::int64_t thread = event.tid.is_text() ? number_of(file_.texts, event.tid.text) : event.tid.number;
        KinetoFile::Kind kind = KinetoFile::kinds;
        if (event.ph == "X") {
            kind = kind_of(event.cat);
            if (kind == KinetoFile::aside) {
                count(file_.aside_categories, file_.aside_counts, event.cat);
                return true;
            }
        } else if (event.ph.size() == 1 && file_.flow_phases.find(event.ph) != std::string::npos) {
            if (event.cat != file_.flow_category) {
                ++file_.flow_ends;
                return true;
            }
            if (event.ph != "s" && event.ph != "f") {
                ++file_.steps_of_flows;
                return true;
            }
            kind = event.ph == "s" ? KinetoFile::forward : KinetoFile::backward;
        } else if (event.ph != "B" && event.ph != "E") {
            count(file_.phases, file_.phase_counts, event.ph);
            return true;
        }
        return kind != KinetoFile::kinds && add(event, kind, thread, index);
    }

private:
    KinetoFile::Kind kind_of(std::string_view cat) {
        if (cat == last_cat_) {
            return last_kind_;
        }
        last_cat_ = cat;
        const auto found = file_.categories.find(last_cat_);
        const auto ends = [cat](const std::string& ending) { return cat.ends_with(ending); };
        const bool is_plain = std::ranges::all_of(cat, [](char c) { return c > 0 && c != '\\'; });
        last_kind_ = found != file_.categories.end()                       ? found->second
                     : is_plain && std::ranges::any_of(file_.call_endings, ends) ? KinetoFile::call
                                                                           : KinetoFile::kinds;
        return last_kind_;
    }

    bool add(const KinetoEvent& event, KinetoFile::Kind kind, std::int64_t thread, std::uint32_t index) {
        EventTable& table = file_.tables[kind];
        const std::size_t rows = table.size();
        const bool is_flow = kind == KinetoFile::forward || kind == KinetoFile::backward;
        std::int64_t start = 0, end = 0;
        if (!event.times(start, end, file_.exactness) || !event.pid.is_number() || !(event.tid.is_number() || event.tid.is_text()) ||
            !(is_flow ? event.has_id : event.has_name)) {
            return false;
        }
        std::int64_t stream = event.stream.is_number() ? event.stream.number : no_number;
        if (kind == KinetoFile::device && event.stream.is_text()) {
            if (event.stream.text.find('\\') != std::string_view::npos) {
                return false;
            }
            stream = number_of(file_.texts, event.stream.text);
        }
        table.start.push_back(start);
        table.end.push_back(end);
        table.pid.push_back(event.pid.number);
        table.tid.push_back(thread);
        table.index.push_back(index);
        table.cat.push_back(file_.names.intern(event.cat));
        table.name.push_back(file_.names.intern(event.name));
        if (is_flow) {
            table.id.push_back(event.id);
            return true;
        }
        using Number = KinetoEvent::Number;
        put(table.external, rows, event.number[Number::external]);
        put(table.rf_id, rows, event.number[Number::rf_id]);
        put(table.seq_id, rows, event.number[Number::seq_id]);
        put(table.correlation, rows, event.number[Number::correlation]);
        if (kind == KinetoFile::device) {
            put(table.stream, rows, stream);
            put(table.device, rows, event.number[Number::device]);
            put(table.bytes, rows, event.number[Number::bytes]);
        }
        if (kind == KinetoFile::cpu && file_.has_shapes) {
            table.shapes.push_back(shapes(event));
        }
        if (kind == KinetoFile::sync || (event.communicates && kind != KinetoFile::call)) {
            table.with_args.push_back(static_cast<std::uint32_t>(rows));
            table.args.emplace_back(event.args);
        }
        return true;
    }

    std::uint32_t shapes(const KinetoEvent& event) {
        shapes_.clear();
        for (const std::string_view one : event.shape) {
            shapes_.append(one).push_back('\0');
        }
        return file_.shapes.intern(shapes_);
    }

    KinetoFile& file_;
    std::string last_cat_ = "-", shapes_;
    KinetoFile::Kind last_kind_ = KinetoFile::kinds;
};

}  // namespace

bool KinetoFile::feed(std::string_view text) {
    JsonScan in(text);
    KinetoEvent event;
    Sorter sorter(*this);
    return in.list([&] { return event.read(in) && sorter.take(event); }) && in.at_end();
}

bool KinetoFile::finish() {
    for (std::size_t kind = 0; kind < aside; ++kind) {
        EventTable& table = tables[kind];
        for (auto* column : {&table.external, &table.rf_id, &table.seq_id, &table.correlation, &table.stream,
                             &table.device, &table.bytes}) {
            if (!column->empty()) {
                column->resize(table.size(), no_number);
            }
        }
        if (kind < forward) {
            table.sort();
        }
    }
    give_back_free_pages();
    return !(exactness.is_needed && exactness.differ);
}

void EventTable::sort() {
    const auto order = order_of(size(), [this](std::uint32_t a, std::uint32_t b) {
        if (start[a] != start[b]) {
            return start[a] < start[b];
        }
        return end[a] != end[b] ? end[a] > end[b] : index[a] < index[b];
    });
    if (order.empty()) {
        return;
    }
    std::vector<std::uint32_t> place(order.size());
    for (std::uint32_t row = 0; row < order.size(); ++row) {
        place[order[row]] = row;
    }
    for (std::uint32_t& row : with_args) {
        row = place[row];
    }
    rearrange(order, start, end, pid, tid);
    rearrange(order, name, cat, index, shapes);
    rearrange(order, id, external, rf_id, seq_id, correlation, stream, device, bytes);
}

}  // namespace yantra::linking
