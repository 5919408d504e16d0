#include <fmt/format.h>

#include <cctype>
#include <sstream>

#include "cli/docs_text.h"

namespace careen::app {

namespace {

// As text in roff: no part of it is mistaken for a request or turned into a typographic sign.
std::string roff(std::string_view text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    line_begins = c == '\n';
    switch (c) {
      case '\\':
        out += "\\e";
        break;
      case '-':
        out += "\\-";
        break;
      case '\'':
        out += "\\(aq";
        break;
      case '^':
        out += "\\(ha";
        break;
      case '~':
        out += "\\(ti";
        break;
      case '`':
        out += "\\(ga";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// Prose is filled; what is indented, examples, stays as it is.
std::string paragraphs(const std::string& details) {
  std::string out;
  std::istringstream lines(details);
  bool example = false;
  for (std::string line; std::getline(lines, line);) {
    const bool indented = line.starts_with("  ");
    if (indented != example) out += indented ? ".PP\n.nf\n.RS 4\n" : ".RE\n.fi\n";
    example = indented;
    if (line.empty()) {
      if (!example) out += ".PP\n";
    } else {
      out += roff(indented ? line.substr(2) : line) + "\n";
    }
  }
  if (example) out += ".RE\n.fi\n";
  return out;
}

// The names in bold, what the flag takes in italics.
std::string head(const ParameterDoc& flag) {
  const std::string text = flag_head(flag);
  if (!flag.takes_value()) return "\\fB" + roff(text) + "\\fR";
  const std::string names = text.substr(0, text.size() - flag.value.size() - 1);
  return fmt::format("\\fB{}\\fR \\fI{}\\fR", roff(names), roff(flag.value));
}

std::string flags_of(const CommandDoc& command) {
  std::string out;
  for (const std::string& group : command.flag_groups()) {
    if (group != "Options") out += fmt::format(".PP\n{}:\n", roff(group));
    for (const ParameterDoc& flag : command.flags) {
      if (flag.group == group) out += fmt::format(".TP\n{}\n{}\n", head(flag), roff(full_text(flag)));
    }
  }
  return out;
}

std::string man_section(const CommandDoc& command, const std::string& path) {
  std::string out =
      fmt::format(".SS {}\n{}.\n.PP\n\\fB{}\\fR\n", roff(path), roff(command.summary), roff(usage_line(command, path)));
  for (const ParameterDoc& argument : command.arguments) {
    const std::string choices = argument.choices.empty() ? "" : ": " + argument.value;
    out += fmt::format(".TP\n\\fI{}\\fR\n{}\n", roff(argument.names.front()), roff(full_text(argument) + choices));
  }
  out += flags_of(command);
  if (!command.details.empty()) out += ".PP\n" + paragraphs(command.details);
  for (const CommandDoc& below : command.commands) {
    if (!below.hidden()) out += man_section(below, path + " " + below.name);
  }
  return out;
}

}  // namespace

std::string man_page(const CommandDoc& tree, const std::string& version, const std::string& objects) {
  std::string out = fmt::format(
      ".\\\" Made by \"careen docs man\".\n"
      ".TH CAREEN 1 \"\" \"careen {}\" \"User Commands\"\n"
      ".SH NAME\ncareen \\- one node\\-maintenance system for Kubernetes\n"
      ".SH SYNOPSIS\n\\fBcareen\\fR \\fICOMMAND\\fR [\\fIflags\\fR]\n.br\n"
      "\\fBkubectl careen\\fR \\fICOMMAND\\fR [\\fIflags\\fR]\n"
      ".SH DESCRIPTION\n"
      "careen takes nodes of a cluster out for maintenance and gives them back: by profiles that nodes go through, by "
      "{} objects, or from the terminal. It holds all of them to the same limits and can tell why each "
      "node is where it is.\n",
      roff(version), roff(objects));
  for (const std::string& group : tree.command_groups()) {
    out += fmt::format(".SH {}\n", upper(roff(group)));
    for (const CommandDoc& command : tree.commands) {
      if (command.group == group) out += man_section(command, tree.name + " " + command.name);
    }
  }
  out +=
      ".SH EXIT STATUS\n.TP\n0\ndone\n.TP\n1\nnot done; the reasons are on stderr\n.TP\n2\nwrong usage\n"
      ".TP\n130\ninterrupted by Ctrl\\-C\n"
      ".SH ENVIRONMENT\n"
      ".TP\n\\fBKUBECONFIG\\fR\nkubeconfig files, separated by colons, where \\-\\-kubeconfig names none\n"
      ".TP\n\\fBCAREEN_SERVER\\fR\nthe careen to ask where \\-\\-server names none: its dashboard's address, such as "
      "http://127.0.0.1:8080, or auto for a careen that runs on this machine\n"
      ".TP\n\\fBCAREEN_TOKEN\\fR\nbearer token for \\-\\-server\n"
      ".TP\n\\fBNO_COLOR\\fR\nset to anything: no colours\n"
      ".TP\n\\fBCOLUMNS\\fR\nthe width of what is printed where there is no terminal\n"
      ".SH SEE ALSO\n\\fBkubectl\\fR(1)\n";
  return out;
}

}  // namespace careen::app
