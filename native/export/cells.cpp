#include "export/cells.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <vector>

#include "base/ensure.hpp"
#include "export/json_text.hpp"

namespace yantra {

namespace {

constexpr u64 never_ticks = ~u64{0};

// In nanoseconds, with up to three decimals (picoseconds), without trailing zeros.
void append_ticks(std::string& out, u64 ticks, u64 per_ns) {
    append_number(out, ticks / per_ns);
    const u64 rest = ticks % per_ns;
    if (rest == 0) {
        return;
    }
    out += '.';
    u64 left = rest;
    for (u64 digit = per_ns / 10; left > 0; digit /= 10) {
        out += static_cast<char>('0' + left / digit);
        left %= digit;
    }
}

}  // namespace

void append_field(std::string& out, std::string_view text) {
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
        out += text;
        return;
    }
    out += '"';
    for (const char character : text) {
        if (character == '"') {
            out += '"';
        }
        out += character;
    }
    out += '"';
}

void append_real(std::string& out, double value) {
    const double size = std::abs(value);
    const bool plain = size == 0.0 || (size >= 1e-4 && size < 1e16);
    std::array<char, 32> digits{};
    const auto [end, error] =
        std::to_chars(digits.data(), digits.data() + digits.size(), value,
                      plain ? std::chars_format::fixed : std::chars_format::scientific);
    const std::string_view text(digits.data(), static_cast<std::size_t>(end - digits.data()));
    out += text;
    if (plain && text.find('.') == std::string_view::npos) {
        out += ".0";
    }
}

u64 TableWriter::new_texts() {
    texts_.emplace_back();
    return texts_.size() - 1;
}

void TableWriter::add_texts(u64 number, const std::vector<std::string>& texts) {
    std::vector<std::string>& kept = texts_.at(number);
    for (const std::string& text : texts) {
        std::string& quoted = kept.emplace_back();
        if (json_) {
            append_json(quoted, text);
        } else {
            append_field(quoted, text);
        }
    }
}

void TableWriter::append(std::string& out, const Cells& column, std::size_t at) const {
    if (column.kind == CellKind::given) {
        const std::string& text = column.given[at];
        if (json_) {
            out += text;
        } else {
            append_field(out, text);
        }
        return;
    }
    const u64 value = column.values[at];
    const bool none = column.kind == CellKind::real    ? std::isnan(std::bit_cast<double>(value))
                      : column.kind == CellKind::ticks ? value == never_ticks
                                                       : false;
    if (none) {
        out += json_ ? "null" : "";
        return;
    }
    switch (column.kind) {
        case CellKind::whole: append_number(out, value); break;
        case CellKind::ticks: append_ticks(out, value, column.number); break;
        case CellKind::real: append_real(out, std::bit_cast<double>(value)); break;
        case CellKind::coded: out += texts_.at(column.number).at(value); break;
        case CellKind::given: break;
    }
}

std::string TableWriter::rows(const std::vector<Cells>& columns) const {
    std::string out;
    const std::size_t count = columns.empty() ? 0 : columns.front().size();
    for (const Cells& column : columns) {
        ensure(column.size() == count, "table: columns differ in length");
    }
    for (std::size_t row = 0; row < count; ++row) {
        for (std::size_t at = 0; at < columns.size(); ++at) {
            if (at > 0) {
                out += ',';
            }
            append(out, columns[at], row);
        }
        out += "\r\n";
    }
    return out;
}

std::string TableWriter::elements(const Cells& column) const {
    std::string out;
    for (std::size_t row = 0; row < column.size(); ++row) {
        if (row > 0) {
            out += ", ";
        }
        append(out, column, row);
    }
    return out;
}

}  // namespace yantra
